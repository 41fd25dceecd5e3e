"""The job that has a claim or a mail in hand, and what was found to stand still."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import UtcDateTime

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

BY_JOBS = ("claims", "mails")


def upgrade() -> None:
    """Columns that workers of the version before leave empty, and a table that they do not know."""
    for table in BY_JOBS:
        op.add_column(table, sa.Column("job_key", sa.BigInteger()))
        op.add_column(table, sa.Column("job_retries", sa.Integer()))
        op.add_column(table, sa.Column("job_until", UtcDateTime()))
    op.create_table(
        "standing_still",
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("subject", sa.String(128), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("confirmed_at", UtcDateTime()),
        sa.Column("healed_at", UtcDateTime()),
        sa.Column("heals", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject", name="pk_standing_still"),
    )


def downgrade() -> None:
    """Take both back."""
    op.drop_table("standing_still")
    for table in BY_JOBS:
        for column in ("job_until", "job_retries", "job_key"):
            op.drop_column(table, column)
