"""Retry decisions, one per claim, count, process instance and round."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import BigId, UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "retry_decisions",
        sa.Column("decision_id", BigId, nullable=False),
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("retry_count", sa.Integer(), nullable=False),
        sa.Column("process_instance_key", sa.BigInteger(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("job_key", sa.BigInteger(), nullable=False),
        sa.Column("attempt_number", sa.Integer(), nullable=False),
        sa.Column("submission_error", sa.Text(), nullable=False),
        sa.Column("error_classification", sa.String(24), nullable=False),
        sa.Column("error_category", sa.String(64), nullable=False),
        sa.Column("max_retries", sa.Integer(), nullable=False),
        sa.Column("backoff_minutes", sa.Integer(), nullable=False),
        sa.Column("should_retry", sa.Boolean(), nullable=False),
        sa.Column("retry_reason", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.String(96), nullable=False),
        sa.Column("decided_at", UtcDateTime(), nullable=False),
        sa.Column("next_retry_time", UtcDateTime()),
        sa.Column("audit_sequence", sa.Integer(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("decision_id", name="pk_retry_decisions"),
        sa.UniqueConstraint(
            "claim_id", "retry_count", "process_instance_key", "round", name="uq_retry_decisions_round"
        ),
    )
    op.create_index("ix_retry_decisions_claim_id", "retry_decisions", ["claim_id", "decided_at"])
    op.create_index("ix_retry_decisions_decided_at", "retry_decisions", ["decided_at"])
    waiting = sa.text("next_retry_time IS NOT NULL")
    op.create_index(
        "ix_retry_decisions_next_retry_time",
        "retry_decisions",
        ["next_retry_time"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )


def downgrade() -> None:
    """Drop it again."""
    op.drop_table("retry_decisions")
