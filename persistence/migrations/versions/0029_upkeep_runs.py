"""When the watch last looked, and since when it should have."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import UtcDateTime

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

TASKS = ("heal-standing", "snapshot-kpis")


def upgrade() -> None:
    """A row for each task from now on: one that is never done grows old, and none is old at once."""
    runs = op.create_table(
        "upkeep_runs",
        sa.Column("task", sa.String(32), nullable=False),
        sa.Column("done_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("task", name="pk_upkeep_runs"),
    )
    now = datetime.now(UTC)
    op.bulk_insert(runs, [{"task": task, "done_at": now} for task in TASKS])


def downgrade() -> None:
    """Drop it again."""
    op.drop_table("upkeep_runs")
