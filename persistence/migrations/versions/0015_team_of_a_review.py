"""Which team a review waits for; workers of the version before leave it empty."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A column that may be empty."""
    op.add_column("reviews", sa.Column("team", sa.String(32)))


def downgrade() -> None:
    """Take it back."""
    op.drop_column("reviews", "team")
