"""Daily anchors: one signed hash over all events since the anchor before, chained to that."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import ColumnElement, insert, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Trouble
from persistence.audit.chain import GENESIS
from persistence.audit.events import Audit
from persistence.audit.seals import UNSEALED, Judgement, Seals
from persistence.database.canonical import fingerprint
from persistence.database.rows import row_of
from persistence.tables import audit_anchors as anchors
from persistence.tables import audit_events, claim_events, claims, retry_decisions

SETTLED_AFTER = timedelta(hours=1)
"""How long after midnight UTC a day's anchor is set."""
BEGINNING = "BEGINNING"
TOLD_IN = (audit_events, anchors, claims, claim_events, retry_decisions)
BEFORE_ALL_DAYS = date(1970, 1, 1)
"""The day of a beginning over nothing."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The seal of a day; once its events were removed by retention, `pruned_at` says when.

    It is over the events from `first_event` to `last_event`, by their numbers, of which so many bore no seal
    of ours. Anchors of earlier versions were over the events of their day by the clock, and not signed.
    One that is the trail's beginning takes what was there before it as it was; no other may.
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
    kind: str | None = None

    @property
    def is_beginning(self) -> bool:
        """Whether it says that the trail begins with it."""
        return self.kind == BEGINNING


class AnchorRefused(Trouble):
    """What cannot be checked is not signed; the text says what to do."""


class NoAuditKey(AnchorRefused):
    """Nothing can be signed here."""

    def __init__(self) -> None:
        super().__init__(
            "No key is here to sign an anchor with: set ENCRYPTION_KEYS or REENVIO_HOME as for the workers."
        )


class NoBeginning(AnchorRefused):
    """A trail whose signed beginning is not there is not signed further."""

    def __init__(self) -> None:
        super().__init__(
            "The audit trail has no signed beginning: it was removed, or the trail is of an earlier version "
            "and was migrated without its keys. Nothing is anchored before `reenvio audit verify` was read "
            "and `reenvio audit begin` was ordered."
        )


class AnchorNotOurs(AnchorRefused):
    """Nothing is signed onto an anchor that was made without the key."""

    def __init__(self, day: date) -> None:
        super().__init__(
            f"The anchor of {day} bears no signature of ours, so none is set after it. Read `reenvio audit "
            "verify`; `reenvio audit begin` signs what is there as it is."
        )


class SealKeyMissing(AnchorRefused):
    """Seals and signatures that cannot be checked are not signed over."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"The last anchor, or audit events since, need the key {', '.join(names)}, which is not here, so "
            "no anchor is set: give every worker this key until the next anchor is set. If it is lost for "
            "good, `reenvio audit begin` signs what is there as it is."
        )


def seal_of(anchor: Anchor) -> str:
    """What an anchor's own hash must be."""
    told = [anchor.previous_hash, anchor.day.isoformat(), anchor.digest]
    if anchor.last_event is None:
        return fingerprint(told)
    numbers = [anchor.events, anchor.first_event, anchor.last_event, anchor.unsealed]
    at = anchor.anchored_at.astimezone(UTC).isoformat(timespec="microseconds")
    kind = [anchor.kind] if anchor.kind else []
    return fingerprint([*told, *numbers, at, *kind])


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

    @property
    def can_sign(self) -> bool:
        """Whether a key is here."""
        return self._seals.current is not None

    async def all(self) -> Sequence[Anchor]:
        """Every anchor, oldest first."""
        columns = (anchors.c[name] for name in Anchor.__dataclass_fields__)
        rows = await self._connection.execute(select(*columns).order_by(anchors.c.day))
        return [Anchor(**row._mapping) for row in rows]

    async def newest(self) -> Anchor | None:
        """The last anchor."""
        return await self._last()

    async def _last(self, *which: ColumnElement[bool]) -> Anchor | None:
        columns = (anchors.c[name] for name in Anchor.__dataclass_fields__)
        query = select(*columns).where(*which).order_by(anchors.c.day.desc()).limit(1)
        row = (await self._connection.execute(query)).one_or_none()
        return None if row is None else Anchor(**row._mapping)

    async def due(self, now: datetime) -> date | None:
        """The next day to anchor: over, settled, and not anchored yet."""
        day = await self.next_day()
        return day if day and span(day)[1] + SETTLED_AFTER <= now else None

    async def next_day(self) -> date | None:
        """The day whose anchor is the next; after a beginning it is that of the first event, if any came."""
        last = await self.newest()
        if last is not None and not last.is_beginning:
            return last.day + timedelta(days=1)
        begin = await self._audit.moment_from(last.last_event + 1 if last and last.last_event else 1)
        if begin is None:
            return None
        day = begin.astimezone(UTC).date()
        return max(day, last.day + timedelta(days=1)) if last else day

    async def set(self, day: date, *, now: datetime, last_event: int | None = None) -> Anchor:
        """Anchor a day with all events up to a number, or up to the last there is.

        What cannot be checked is not signed: no trail without its beginning, nothing after an anchor of
        somebody else, no seal of a missing key.
        """
        begun = await self.beginning()
        if self.can_sign or begun:
            self._require_ours(begun, await self.newest())
        return await self._set(day, now=now, last_event=last_event)

    def _require_ours(self, begun: Anchor | None, last: Anchor | None) -> None:
        if not self.can_sign:
            raise NoAuditKey
        if begun is None or last is None:
            raise NoBeginning
        if missing := self._seals.missing_of(last.signature, last.signed_with):
            raise SealKeyMissing(sorted(missing))
        if self._seals.judge_anchor(last.hash, last.signature, last.signed_with) is not Judgement.TRUE:
            raise AnchorNotOurs(last.day)

    async def beginning(self) -> Anchor | None:
        """The newest anchor that is a beginning."""
        return await self._last(anchors.c.kind == BEGINNING)

    async def begin(self, now: datetime) -> Anchor:
        """Sign what is there as it is: from here on, an event without a seal is somebody else's."""
        last, newest = await self._audit.settled(), await self.newest()
        if newest is None and last == 0:
            return await self._set(BEFORE_ALL_DAYS, now=now, last_event=0, kind=BEGINNING)
        day = now.astimezone(UTC).date() - timedelta(days=1)
        day = max(day, newest.day + timedelta(days=1)) if newest else day
        return await self._set(day, now=now, last_event=last, kind=BEGINNING)

    async def begin_if_new(self, now: datetime, *, upgraded: bool) -> Anchor | None:
        """Begin a trail that is empty, or was `upgraded` just now from a version that knew no beginning."""
        if self._seals.current is None or await self.beginning():
            return None
        await self._audit.settled()
        if await self.beginning():  # somebody else began while this one waited
            return None
        return await self.begin(now) if upgraded or await self._is_all_empty() else None

    async def _is_all_empty(self) -> bool:
        """Whether nothing was ever done here; a trail alone that is empty was emptied."""
        rows = [await self._connection.scalar(select(literal(1)).select_from(t).limit(1)) for t in TOLD_IN]
        return not any(rows)

    async def _set(
        self, day: date, *, now: datetime, last_event: int | None, kind: str | None = None
    ) -> Anchor:
        first, newest = await self.first_open(), await self.newest()
        last = await self._audit.settled() if last_event is None else last_event
        found = await self._audit.digest_between(first, last)
        if found.missing_keys and self._seals.current and kind is None:
            raise SealKeyMissing(found.missing_keys)
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
            kind=kind,
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
