"""An index for the retries that claims wait for in processes of others."""

from persistence.migrations.indexes import create_index, drop_index

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Retries by the time they are due."""
    create_index(
        "ix_retry_decisions_next_retry_time",
        "retry_decisions",
        ["next_retry_time"],
        where="next_retry_time IS NOT NULL",
    )


def downgrade() -> None:
    """Drop it again."""
    drop_index("ix_retry_decisions_next_retry_time", "retry_decisions")
