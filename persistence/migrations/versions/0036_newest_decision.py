"""An index for the newest decision about a claim, by which the console groups what stands still."""

from persistence.migrations.indexes import create_index, drop_index

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

NAME = "ix_retry_decisions_newest"


def upgrade() -> None:
    """Workers of the version before keep it up too."""
    create_index(NAME, "retry_decisions", ["claim_id", "decision_id"])


def downgrade() -> None:
    """Take it back."""
    drop_index(NAME, "retry_decisions")
