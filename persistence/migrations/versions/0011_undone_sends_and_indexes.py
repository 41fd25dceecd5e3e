"""When a payer confirmed that a claim's sends are undone; an index for each question, none without one."""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.indexes import create_index, drop_index
from persistence.tables.types import UtcDateTime

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Indexes for a payer's claims, batches, answers to remove; a column that old workers leave empty."""
    create_index("ix_claims_payer_id", "claims", ["payer_id", "created_at"])
    create_index("ix_claims_batch_number", "claims", ["batch_number", "payer_id"])
    create_index(
        "ix_submission_attempts_payload", "submission_attempts", ["started_at"], where="result IS NOT NULL"
    )
    drop_index("ix_retry_decisions_next_retry_time", "retry_decisions")
    op.add_column("submission_attempts", sa.Column("undone_at", UtcDateTime()))


def downgrade() -> None:
    """Take all of it back."""
    create_index(
        "ix_retry_decisions_next_retry_time",
        "retry_decisions",
        ["next_retry_time"],
        where="next_retry_time IS NOT NULL",
    )
    drop_index("ix_submission_attempts_payload", "submission_attempts")
    drop_index("ix_claims_batch_number", "claims")
    drop_index("ix_claims_payer_id", "claims")
    op.drop_column("submission_attempts", "undone_at")
