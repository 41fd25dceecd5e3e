"""The deadline that a decision was made against."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import UtcDateTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; old workers leave it empty."""
    op.add_column("retry_decisions", sa.Column("deadline", UtcDateTime()))


def downgrade() -> None:
    """Drop it again."""
    op.drop_column("retry_decisions", "deadline")
