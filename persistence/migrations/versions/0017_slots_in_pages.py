"""How far the slots of waiting claims were given, and an index that has waiting claims in their order."""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.indexes import create_index
from persistence.tables.types import UtcDateTime

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A wider index in place of the one by deadline alone; a column that old workers leave empty."""
    create_index("ix_payer_waits_deadline", "payer_waits", ["payer_id", "deadline", "since", "claim_id"])
    op.add_column("payer_status", sa.Column("slots_until", UtcDateTime()))


def downgrade() -> None:
    """Take both back."""
    create_index("ix_payer_waits_deadline", "payer_waits", ["payer_id", "deadline"])
    op.drop_column("payer_status", "slots_until")
