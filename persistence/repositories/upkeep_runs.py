"""When what runs on timers was last done; a task that never was has the moment since which it should be."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.database.dialect import insert_into
from persistence.tables import upkeep_runs as runs


class UpkeepTask(StrEnum):
    """What somebody must notice when nobody does it any more."""

    STANDING = "heal-standing"
    KPIS = "snapshot-kpis"


class UpkeepRuns:
    """One row for each task."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def done(self, task: UpkeepTask, *, now: datetime) -> None:
        """Note that a task is done."""
        new = insert_into(self._connection, runs).values(task=task.value, done_at=now)
        await self._connection.execute(
            new.on_conflict_do_update(index_elements=[runs.c.task], set_={"done_at": now})
        )

    async def last(self) -> Mapping[str, datetime]:
        """When each was last done."""
        rows = await self._connection.execute(select(runs.c.task, runs.c.done_at))
        return {row.task: row.done_at for row in rows}
