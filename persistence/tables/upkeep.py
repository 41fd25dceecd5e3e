"""When what runs on timers was last done."""

from sqlalchemy import Column, String, Table

from persistence.tables.base import metadata
from persistence.tables.types import UtcDateTime

upkeep_runs = Table(
    "upkeep_runs",
    metadata,
    Column("task", String(32), primary_key=True),
    Column("done_at", UtcDateTime, nullable=False),
)
