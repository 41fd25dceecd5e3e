"""Legal holds, and counts of errors that outlive the decisions they are counted from."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import UtcDateTime

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "legal_holds",
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("placed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("claim_id", name="pk_legal_holds"),
    )
    op.create_table(
        "error_statistics",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("error_classification", sa.String(24), nullable=False),
        sa.Column("error_category", sa.String(64), nullable=False),
        sa.Column("decisions", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", "error_classification", "error_category", name="pk_error_statistics"),
    )


def downgrade() -> None:
    """Drop them again."""
    op.drop_table("error_statistics")
    op.drop_table("legal_holds")
