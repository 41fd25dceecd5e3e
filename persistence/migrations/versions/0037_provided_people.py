"""People who come in by a provider: who they are there."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

NAME = "uq_people_identity"


def upgrade() -> None:
    """Columns that the version before leaves empty, in a table of few rows that no job writes."""
    op.add_column("people", sa.Column("issuer", sa.String(255)))
    op.add_column("people", sa.Column("subject", sa.String(255)))
    op.create_index(NAME, "people", ["issuer", "subject"], unique=True)


def downgrade() -> None:
    """Take it back; who came in by a provider has no other way in, and may have no password."""
    op.drop_index(NAME, "people")
    op.drop_column("people", "subject")
    op.drop_column("people", "issuer")
