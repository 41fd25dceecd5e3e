"""Daily anchors: one hash over all audit events of a day, chained to the anchor before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.audit.chain import GENESIS
from persistence.audit.events import Audit
from persistence.database.canonical import fingerprint
from persistence.database.rows import row_of
from persistence.tables import audit_anchors as anchors

SETTLED_AFTER = timedelta(hours=1)
"""How long after midnight UTC a day's last event may still be on its way."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The seal of a day; once its events were removed by retention, `pruned_at` says when."""

    day: date
    events: int
    digest: str
    previous_hash: str
    hash: str
    anchored_at: datetime
    pruned_at: datetime | None = None


def seal_of(day: date, digest: str, previous_hash: str) -> str:
    """What an anchor's own hash must be."""
    return fingerprint([previous_hash, day.isoformat(), digest])


def span(day: date) -> tuple[datetime, datetime]:
    """A day's first moment and the next day's, in UTC."""
    start = datetime.combine(day, time(), UTC)
    return start, start + timedelta(days=1)


class Anchors:
    """Anchors by day."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def all(self) -> Sequence[Anchor]:
        """Every anchor, oldest first."""
        columns = (anchors.c[name] for name in Anchor.__dataclass_fields__)
        rows = await self._connection.execute(select(*columns).order_by(anchors.c.day))
        return [Anchor(**row._mapping) for row in rows]

    async def due(self, now: datetime) -> date | None:
        """The next day to anchor: over, settled, and not anchored yet."""
        newest = select(anchors.c.day).order_by(anchors.c.day.desc()).limit(1)
        last: date | None = await self._connection.scalar(newest)
        if last is None:
            begin = await Audit(self._connection).oldest()
            day = begin.astimezone(UTC).date() if begin else None
        else:
            day = last + timedelta(days=1)
        return day if day and span(day)[1] + SETTLED_AFTER <= now else None

    async def set(self, day: date, *, now: datetime) -> Anchor:
        """Anchor a day."""
        query = select(anchors.c.hash).order_by(anchors.c.day.desc()).limit(1)
        previous = await self._connection.scalar(query) or GENESIS
        events, digest = await Audit(self._connection).digest(*span(day))
        anchor = Anchor(day, events, digest, previous, seal_of(day, digest, previous), now)
        await self._connection.execute(insert(anchors).values(row_of(anchor)))
        return anchor
