"""Leases: of several processes, one at a time does what must not be done twice at once."""

from datetime import datetime, timedelta

from sqlalchemy import delete, or_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.database.dialect import insert_into
from persistence.database.wrong_clock import latest_end, tell_shortened
from persistence.tables import leases


class Leases:
    """Named leases; a holder that dies loses its lease when it ends, `length` from now at the latest."""

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
        if taken.scalar_one_or_none() == holder:
            return True
        await self._shorten(name, latest_end(now, length))
        return False

    async def _shorten(self, name: str, latest: datetime) -> None:
        ahead = update(leases).where(leases.c.name == name, leases.c.expires_at > latest)
        if (await self._connection.execute(ahead.values(expires_at=latest))).rowcount:
            tell_shortened(name, latest)

    async def give_back(self, name: str, holder: str) -> None:
        """End one's own lease early."""
        mine = delete(leases).where(leases.c.name == name, leases.c.holder == holder)
        await self._connection.execute(mine)
