"""Claims, sends, reviews, notices and events."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import BigId, UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

STATES = "'SUBMITTING', 'FAILED', 'WAITING', 'IN_REVIEW', 'ACCEPTED', 'CANCELLED', 'WRITTEN_OFF'"


def upgrade() -> None:
    """Create the five tables."""
    op.create_table(
        "claims",
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("payer_id", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("retry_count", sa.Integer(), nullable=False),
        sa.Column("next_retry_time", UtcDateTime()),
        sa.Column("protocol_number", sa.String(64)),
        sa.Column("reason", sa.Text()),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint(f"state IN ({STATES})", name=op.f("ck_claims_state")),
        sa.PrimaryKeyConstraint("claim_id", name="pk_claims"),
    )
    op.create_index("ix_claims_state", "claims", ["state", "next_retry_time"])
    op.create_index("ix_claims_updated_at", "claims", ["updated_at"])
    op.create_table(
        "submission_attempts",
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("job_key", sa.BigInteger(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime()),
        sa.Column("outcome", sa.String(24)),
        sa.Column("result", sa.JSON()),
        sa.PrimaryKeyConstraint("claim_id", "attempt", name="pk_submission_attempts"),
    )
    op.create_index("ix_submission_attempts_job_key", "submission_attempts", ["job_key"])
    op.create_index("ix_submission_attempts_started_at", "submission_attempts", ["started_at"])
    op.create_table(
        "reviews",
        sa.Column("review_id", BigId, nullable=False),
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("job_key", sa.BigInteger(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(64), nullable=False),
        sa.Column("detail", sa.Text()),
        sa.Column("opened_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("review_id", name="pk_reviews"),
        sa.UniqueConstraint("job_key", name="uq_reviews_job_key"),
    )
    op.create_index("ix_reviews_claim_id", "reviews", ["claim_id"])
    op.create_index("ix_reviews_opened_at", "reviews", ["opened_at"])
    op.create_table(
        "notices",
        sa.Column("notice_id", BigId, nullable=False),
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("job_key", sa.BigInteger(), nullable=False),
        sa.Column("recipient", sa.String(64), nullable=False),
        sa.Column("template", sa.String(64), nullable=False),
        sa.Column("recorded_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("notice_id", name="pk_notices"),
        sa.UniqueConstraint("job_key", name="uq_notices_job_key"),
    )
    op.create_index("ix_notices_claim_id", "notices", ["claim_id"])
    op.create_index("ix_notices_recorded_at", "notices", ["recorded_at"])
    op.create_table(
        "claim_events",
        sa.Column("sequence", BigId, nullable=False),
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("event", sa.String(32), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="pk_claim_events"),
    )
    op.create_index("ix_claim_events_claim_id", "claim_events", ["claim_id", "sequence"])
    op.create_index("ix_claim_events_at", "claim_events", ["at"])


def downgrade() -> None:
    """Drop them again."""
    for table in ("claim_events", "notices", "reviews", "submission_attempts", "claims"):
        op.drop_table(table)
