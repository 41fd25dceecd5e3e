"""Leases: of several processes, one at a time does what must not be done twice at once."""

from datetime import datetime, timedelta

from sqlalchemy import delete, or_
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.database.dialect import insert_into
from persistence.tables import leases


class Leases:
    """Named leases; a holder that dies loses its lease when it ends."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def take(self, name: str, holder: str, *, now: datetime, length: timedelta) -> bool:
        """Take or prolong a lease; False while somebody else holds it."""
        row = {"name": name, "holder": holder, "expires_at": now + length}
        statement = insert_into(self._connection, leases).values(row)
        free = or_(leases.c.holder == holder, leases.c.expires_at <= now)
        taken = await self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=[leases.c.name],
                set_={"holder": holder, "expires_at": now + length},
                where=free,
            ).returning(leases.c.holder)
        )
        return bool(taken.scalar_one_or_none() == holder)

    async def give_back(self, name: str, holder: str) -> None:
        """End one's own lease early."""
        mine = delete(leases).where(leases.c.name == name, leases.c.holder == holder)
        await self._connection.execute(mine)
