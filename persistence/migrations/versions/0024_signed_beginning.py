"""An anchor may be the signed beginning of the trail; workers of the version before set daily ones."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A column that is empty in daily anchors."""
    op.add_column("audit_anchors", sa.Column("kind", sa.String(16)))


def downgrade() -> None:
    """Take it away again."""
    op.drop_column("audit_anchors", "kind")
