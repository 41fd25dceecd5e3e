"""The outbox: facts committed with what caused them, waiting to be published."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from sqlalchemy import ColumnElement, func, insert, select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.database.dialect import among
from persistence.database.rows import row_of
from persistence.tables import outbox

EVENT_IDS = UUID("6c0bd0f5-3b1e-5d55-9d53-7a0d1f6f2a04")


@dataclass(frozen=True, slots=True)
class OutboxEvent:
    """One fact; `payload` is canonical JSON, `event_id` stays the same however often it is sent."""

    event_id: str
    claim_id: str
    type: str
    payload: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingEvent(OutboxEvent):
    """A fact in its place in the queue."""

    position: int


@dataclass(frozen=True, slots=True)
class UnreadableEvent:
    """A row that is no event any more: its place, and what is wrong with it."""

    position: int
    why: str


@dataclass(frozen=True, slots=True)
class Lag:
    """How far the relay is behind, and how many rows are set aside because they cannot be published."""

    waiting: int
    oldest: datetime | None
    set_aside: int = 0


SPOILT = (ValueError, TypeError, AttributeError, OverflowError, OperationalError)
"""What reading raises where a column holds a value of another type, in another form, or no text."""
COLUMNS = tuple(outbox.c[name] for name in WaitingEvent.__dataclass_fields__)
ASIDE = outbox.c.published_at.is_(None) & outbox.c.set_aside_at.is_not(None)
WAITS = outbox.c.published_at.is_(None) & outbox.c.set_aside_at.is_(None)


def event_id(*identity: object) -> str:
    """An id derived from what makes the event this event."""
    return str(uuid5(EVENT_IDS, "\x1f".join(map(str, identity))))


class Outbox:
    """Facts in the order they became true."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, events: Iterable[OutboxEvent]) -> None:
        """Put facts in, within the transaction that makes them true."""
        await self._connection.execute(insert(outbox), [row_of(event) for event in events])

    async def add_any(self, events: Iterable[OutboxEvent]) -> None:
        """The same where there may be none."""
        if facts := list(events):
            await self.add(facts)

    async def unpublished(self, limit: int) -> Sequence[WaitingEvent]:
        """The oldest facts that are not published yet."""
        return [row for row in await self.to_publish(limit) if isinstance(row, WaitingEvent)]

    async def to_publish(self, limit: int) -> Sequence[WaitingEvent | UnreadableEvent]:
        """The same with rows that are no facts any more in their places."""
        return await self._read(WAITS, limit)

    async def published_after(
        self, position: int, until: int, limit: int
    ) -> Sequence[WaitingEvent | UnreadableEvent]:
        """Facts that were published once, in their places after one and up to another."""
        places = (outbox.c.position > position) & (outbox.c.position <= until)
        return await self._read(outbox.c.published_at.is_not(None) & places, limit)

    async def place_of(self, start: datetime | str) -> int | None:
        """The place of an event by its id, or of the first since a moment."""
        mine = outbox.c.event_id == start if isinstance(start, str) else outbox.c.created_at >= start
        found: int | None = await self._connection.scalar(select(func.min(outbox.c.position)).where(mine))
        return found

    async def count_published(self, start: int) -> tuple[int, int]:
        """How many published facts stand from a place on, and the place of the last."""
        from_there = outbox.c.published_at.is_not(None) & (outbox.c.position >= start)
        query = select(func.count(), func.max(outbox.c.position)).where(from_there)
        number, last = (await self._connection.execute(query)).one()
        return number, last or 0

    async def _read(self, which: ColumnElement[bool], limit: int) -> Sequence[WaitingEvent | UnreadableEvent]:
        try:
            query = select(*COLUMNS).where(which).order_by(outbox.c.position).limit(limit)
            return [WaitingEvent(**row._mapping) for row in await self._connection.execute(query)]
        except SPOILT as error:
            if not _is_of_a_row(error):
                raise
        places = select(outbox.c.position).where(which).order_by(outbox.c.position).limit(limit)
        found = (await self._connection.execute(places)).scalars().all()
        return [await self._one(position) for position in found]

    async def _one(self, position: int) -> WaitingEvent | UnreadableEvent:
        """A row by itself: one that is spoilt spoils no other."""
        try:
            found = await self._connection.execute(select(*COLUMNS).where(outbox.c.position == position))
            return WaitingEvent(**found.one()._mapping)
        except SPOILT as error:
            if not _is_of_a_row(error):
                raise
            return UnreadableEvent(position, f"a column cannot be read ({type(error).__name__})")

    async def set_aside(self, positions: Collection[int], *, now: datetime) -> None:
        """Leave out what cannot be published; it stays for a person to look at."""
        these = among(self._connection, outbox.c.position, positions)
        await self._connection.execute(update(outbox).where(these).values(set_aside_at=now))

    async def published(self, positions: Collection[int], *, now: datetime) -> None:
        """Remember that these are published."""
        sent = among(self._connection, outbox.c.position, positions)
        await self._connection.execute(update(outbox).where(sent).values(published_at=now))

    async def lag(self) -> Lag:
        """How many wait, and since when."""
        number = await self._connection.scalar(select(func.count()).where(WAITS))
        aside = select(func.count()).where(
            outbox.c.published_at.is_(None), outbox.c.set_aside_at.is_not(None)
        )
        oldest = await self.unpublished(1)
        since = oldest[0].created_at if oldest else None
        return Lag(number or 0, since, await self._connection.scalar(aside) or 0)


def _is_of_a_row(error: Exception) -> bool:
    """SQLite keeps whatever bytes it was given: a time that is none, a text that is no UTF-8."""
    return not isinstance(error, OperationalError) or "decode" in str(error)
