"""Daily anchors: one signed hash over all events since the anchor before, chained to that."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.audit.chain import GENESIS
from persistence.audit.events import Audit
from persistence.audit.seals import UNSEALED, Seals
from persistence.database.canonical import fingerprint
from persistence.database.rows import row_of
from persistence.tables import audit_anchors as anchors

SETTLED_AFTER = timedelta(hours=1)
"""How long after midnight UTC a day's anchor is set."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The seal of a day; once its events were removed by retention, `pruned_at` says when.

    It is over the events from `first_event` to `last_event`, by their numbers, of which so many bore no seal
    of ours. Anchors of earlier versions were over the events of their day by the clock, and not signed.
    """

    day: date
    events: int
    digest: str
    previous_hash: str
    hash: str
    anchored_at: datetime
    pruned_at: datetime | None = None
    first_event: int | None = None
    last_event: int | None = None
    unsealed: int | None = None
    signature: str | None = None
    signed_with: str | None = None


def seal_of(anchor: Anchor) -> str:
    """What an anchor's own hash must be."""
    told = [anchor.previous_hash, anchor.day.isoformat(), anchor.digest]
    if anchor.last_event is None:
        return fingerprint(told)
    numbers = [anchor.events, anchor.first_event, anchor.last_event, anchor.unsealed]
    at = anchor.anchored_at.astimezone(UTC).isoformat(timespec="microseconds")
    return fingerprint([*told, *numbers, at])


def span(day: date) -> tuple[datetime, datetime]:
    """A day's first moment and the next day's, in UTC."""
    start = datetime.combine(day, time(), UTC)
    return start, start + timedelta(days=1)


class Anchors:
    """Anchors by day."""

    def __init__(self, connection: AsyncConnection, seals: Seals = UNSEALED) -> None:
        self._connection = connection
        self._seals = seals
        self._audit = Audit(connection, seals)

    async def all(self) -> Sequence[Anchor]:
        """Every anchor, oldest first."""
        columns = (anchors.c[name] for name in Anchor.__dataclass_fields__)
        rows = await self._connection.execute(select(*columns).order_by(anchors.c.day))
        return [Anchor(**row._mapping) for row in rows]

    async def newest(self) -> Anchor | None:
        """The last anchor."""
        columns = (anchors.c[name] for name in Anchor.__dataclass_fields__)
        query = select(*columns).order_by(anchors.c.day.desc()).limit(1)
        row = (await self._connection.execute(query)).one_or_none()
        return None if row is None else Anchor(**row._mapping)

    async def due(self, now: datetime) -> date | None:
        """The next day to anchor: over, settled, and not anchored yet."""
        if (last := await self.newest()) is None:
            begin = await self._audit.oldest()
            day = begin.astimezone(UTC).date() if begin else None
        else:
            day = last.day + timedelta(days=1)
        return day if day and span(day)[1] + SETTLED_AFTER <= now else None

    async def set(self, day: date, *, now: datetime, last_event: int | None = None) -> Anchor:
        """Anchor a day with all events up to a number, or up to the last there is."""
        first, newest = await self.first_open(), await self.newest()
        last = await self._audit.settled() if last_event is None else last_event
        found = await self._audit.digest_between(first, last)
        draft = Anchor(
            day=day,
            events=found.events,
            digest=found.digest,
            previous_hash=newest.hash if newest else GENESIS,
            hash="",
            anchored_at=now,
            first_event=first,
            last_event=max(last, first - 1),
            unsealed=found.unsealed,
        )
        anchor = self._signed(replace(draft, hash=seal_of(draft)))
        await self._connection.execute(insert(anchors).values(row_of(anchor)))
        return anchor

    async def first_open(self) -> int:
        """The number of the first event that no anchor holds."""
        numbered = select(anchors.c.last_event).where(anchors.c.last_event.is_not(None))
        last = await self._connection.scalar(numbered.order_by(anchors.c.day.desc()).limit(1))
        if last is not None:
            return int(last) + 1
        newest = await self.newest()
        return await self._audit.first_after(span(newest.day)[1]) if newest else 1

    def _signed(self, anchor: Anchor) -> Anchor:
        key = self._seals.current
        return replace(anchor, signature=key.sign(anchor.hash), signed_with=key.name) if key else anchor
