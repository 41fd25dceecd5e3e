"""Legal holds: claims of which nothing may be removed, whatever their age."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.operators import operator_text
from persistence.database.dialect import insert_into
from persistence.database.rows import row_of
from persistence.repositories.noting import Noting
from persistence.tables import legal_holds as holds


@dataclass(frozen=True, slots=True)
class LegalHold:
    """A claim on hold, and why."""

    claim_id: str
    reason: str
    placed_at: datetime
    placed_by: str | None = None


COLUMNS = tuple(holds.c[name] for name in LegalHold.__dataclass_fields__)


class LegalHolds:
    """Holds by claim."""

    def __init__(self, connection: AsyncConnection, notes: Noting) -> None:
        self._connection = connection
        self._notes = notes

    async def place(self, hold: LegalHold) -> bool:
        """Hold a claim, its reason redacted, and note it in its trail; False when it is held already."""
        row = row_of(hold) | {"reason": operator_text(hold.reason)}
        statement = insert_into(self._connection, holds).values(row).on_conflict_do_nothing()
        placed = await self._connection.execute(statement.returning(holds.c.claim_id))
        is_new = placed.scalar_one_or_none() is not None
        if is_new:
            await self._notes.add(hold.claim_id, "held", {"reason": row["reason"]}, now=hold.placed_at)
        return is_new

    async def release(self, claim_id: str, *, now: datetime) -> bool:
        """Let a claim go, and note it in its trail; False when it was not held."""
        released = await self._connection.execute(delete(holds).where(holds.c.claim_id == claim_id))
        if released.rowcount == 1:
            await self._notes.add(claim_id, "released", {}, now=now)
        return released.rowcount == 1

    async def all(self) -> Sequence[LegalHold]:
        """Every hold, oldest first."""
        query = select(*COLUMNS).order_by(holds.c.placed_at)
        return [LegalHold(*row) for row in await self._connection.execute(query)]

    async def find(self, claim_id: str) -> LegalHold | None:
        """A claim's hold, if there is one."""
        found = await self._connection.execute(select(*COLUMNS).where(holds.c.claim_id == claim_id))
        row = found.one_or_none()
        return None if row is None else LegalHold(*row)
