"""What ran out when a claim was given up: its retries, or the time until its deadline."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; old workers leave it empty, and so are the rows before."""
    op.add_column("retry_decisions", sa.Column("cause", sa.String(16)))


def downgrade() -> None:
    """Drop it again."""
    op.drop_column("retry_decisions", "cause")
