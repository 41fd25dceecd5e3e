"""Until when a claim's job rests by a backoff of ours, and an index that alone answers what KPIs ask."""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.indexes import create_index
from persistence.tables.types import UtcDateTime

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

NAME, TABLE, MOMENT = "ix_first_rounds_first_failed_at", "first_rounds", "first_failed_at"
COUNTED = ("payer_id", "is_retried", "given_up", "accepted_at")
SUMMED = ("retries_sent", "since_failure_us", "since_send_us")


def upgrade() -> None:
    """A column that workers of the version before leave as it is: another end of a lock outdates it.

    The index has its name from before, and all columns that are counted or summed.
    """
    create_index(NAME, TABLE, [MOMENT, *COUNTED, *SUMMED])
    op.add_column("claims", sa.Column("job_rests_until", UtcDateTime()))


def downgrade() -> None:
    """Take both back."""
    create_index(NAME, TABLE, [MOMENT])
    op.drop_column("claims", "job_rests_until")
