"""Lists that people come back to, each by its address."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.database.dialect import insert_into
from persistence.tables import saved_filters as kept

MOST = 30
"""Filters of one person."""


@dataclass(frozen=True, slots=True)
class SavedFilter:
    """One list, by a name of the person's own."""

    filter_id: int
    name: str
    address: str


class SavedFilters:
    """Filters by person."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def of(self, person_id: int) -> Sequence[SavedFilter]:
        """A person's filters by name."""
        columns = kept.c.filter_id, kept.c.name, kept.c.address
        query = select(*columns).where(kept.c.person_id == person_id).order_by(kept.c.name)
        return [SavedFilter(*row) for row in await self._connection.execute(query)]

    async def keep(self, person_id: int, name: str, address: str, *, now: datetime) -> bool:
        """Keep one, in the place of the one of that name; False when they have too many."""
        mine = kept.c.person_id == person_id
        others = select(func.count()).where(mine, kept.c.name != name)
        if (await self._connection.scalar(others) or 0) >= MOST:
            return False
        row = {"person_id": person_id, "name": name, "address": address, "kept_at": now}
        new = insert_into(self._connection, kept).values(row)
        changes = {"address": address, "kept_at": now}
        names = [kept.c.person_id, kept.c.name]
        await self._connection.execute(new.on_conflict_do_update(index_elements=names, set_=changes))
        return True

    async def forget(self, person_id: int, filter_id: int) -> None:
        """One of their own goes."""
        mine = (kept.c.person_id == person_id) & (kept.c.filter_id == filter_id)
        await self._connection.execute(delete(kept).where(mine))
