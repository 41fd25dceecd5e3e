"""When a payer confirmed that a claim's sends are undone."""

import sqlalchemy as sa
from alembic import op

from persistence.types import UtcDateTime

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; old workers leave it empty."""
    op.add_column("submission_attempts", sa.Column("undone_at", UtcDateTime()))


def downgrade() -> None:
    """Drop it again."""
    op.drop_column("submission_attempts", "undone_at")
