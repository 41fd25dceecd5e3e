"""An index for the states that payers went through, which the console shows as a strip."""

from persistence.migrations.indexes import create_index, drop_index

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

NAME, WHERE = "ix_outbox_payer_changes", "type = 'PayerStateChangedEvent'"


def upgrade() -> None:
    """Workers of the version before keep it up too; few facts are of this type."""
    create_index(NAME, "outbox", ["created_at"], where=WHERE)


def downgrade() -> None:
    """Take it back."""
    drop_index(NAME, "outbox")
