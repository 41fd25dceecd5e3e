"""The incident on which a claim's process stands, kept with the claim."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A column that workers of the version before leave as it is."""
    op.add_column("claims", sa.Column("incident", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    """Take it back."""
    op.drop_column("claims", "incident")
