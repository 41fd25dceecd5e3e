"""What KPIs are counted from, and what they came to."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import UtcDateTime

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The two tables; rows for earlier decisions are filled in by the daily process."""
    _create_first_rounds()
    _create_snapshots()


def _create_first_rounds() -> None:
    op.create_table(
        "first_rounds",
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("payer_id", sa.String(64)),
        sa.Column("first_failed_at", UtcDateTime(), nullable=False),
        sa.Column("is_retried", sa.Boolean(), nullable=False),
        sa.Column("given_up", sa.String(16)),
        sa.Column("given_up_at", UtcDateTime()),
        sa.Column("accepted_at", UtcDateTime()),
        sa.Column("retries_sent", sa.Integer()),
        sa.Column("since_failure_us", sa.BigInteger()),
        sa.Column("since_send_us", sa.BigInteger()),
        sa.PrimaryKeyConstraint("claim_id", name="pk_first_rounds"),
    )
    op.create_index("ix_first_rounds_first_failed_at", "first_rounds", ["first_failed_at"])
    op.create_index("ix_first_rounds_payer_id", "first_rounds", ["payer_id", "first_failed_at"])


def _create_snapshots() -> None:
    op.create_table(
        "kpi_snapshots",
        sa.Column("kpi", sa.String(32), nullable=False),
        sa.Column("frequency", sa.String(8), nullable=False),
        sa.Column("first_day", sa.Date(), nullable=False),
        sa.Column("payer_id", sa.String(64), nullable=False),
        sa.Column("numerator", sa.BigInteger(), nullable=False),
        sa.Column("denominator", sa.BigInteger(), nullable=False),
        sa.Column("claims", sa.BigInteger(), nullable=False),
        sa.Column("running", sa.BigInteger(), nullable=False),
        sa.Column("by_deadline", sa.BigInteger(), nullable=False),
        sa.Column("taken_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("kpi", "frequency", "first_day", "payer_id", name="pk_kpi_snapshots"),
    )
    op.create_index("ix_kpi_snapshots_first_day", "kpi_snapshots", ["payer_id", "frequency", "first_day"])


def downgrade() -> None:
    """Drop them again."""
    op.drop_table("kpi_snapshots")
    op.drop_table("first_rounds")
