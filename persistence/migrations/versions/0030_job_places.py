"""Where the job that has a claim or a mail in hand stands in its process."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

BY_JOBS = ("claims", "mails")


def upgrade() -> None:
    """A column that workers of the version before leave empty."""
    for table in BY_JOBS:
        op.add_column(table, sa.Column("job_place", sa.Text()))


def downgrade() -> None:
    """Take it back."""
    for table in BY_JOBS:
        op.drop_column(table, "job_place")
