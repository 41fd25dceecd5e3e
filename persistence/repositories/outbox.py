"""The outbox: facts committed with what caused them, waiting to be published."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from sqlalchemy import func, insert, select, update
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
class Lag:
    """How far the relay is behind."""

    waiting: int
    oldest: datetime | None


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

    async def unpublished(self, limit: int) -> Sequence[WaitingEvent]:
        """The oldest facts that are not published yet."""
        query = (
            select(*(outbox.c[name] for name in WaitingEvent.__dataclass_fields__))
            .where(outbox.c.published_at.is_(None))
            .order_by(outbox.c.position)
            .limit(limit)
        )
        return [WaitingEvent(**row._mapping) for row in await self._connection.execute(query)]

    async def published(self, positions: Collection[int], *, now: datetime) -> None:
        """Remember that these are published."""
        sent = among(self._connection, outbox.c.position, positions)
        await self._connection.execute(update(outbox).where(sent).values(published_at=now))

    async def lag(self) -> Lag:
        """How many wait, and since when."""
        waiting = outbox.c.published_at.is_(None)
        number = await self._connection.scalar(select(func.count()).where(waiting))
        first = select(outbox.c.created_at).where(waiting).order_by(outbox.c.position).limit(1)
        return Lag(number or 0, await self._connection.scalar(first))
