"""The audit trail in the database: appended to, read, never changed."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import BigInteger, Row, Select, func, insert, literal, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.audit.chain import AuditEvent, Head
from persistence.audit.claim_seal import ReadTrail, SealState, read_trail, seal_state
from persistence.audit.seals import UNSEALED, Judgement, Seals
from persistence.database.dialect import among
from persistence.tables import audit_events as events

COLUMNS = tuple(events.c[name] for name in AuditEvent.__dataclass_fields__)
WRITTEN = tuple(
    name for name in AuditEvent.__dataclass_fields__ if name not in ("event_id", "seal", "seal_key")
)
"""What an event brings; the rest is given by its row."""
APPENDING = 0xA0D17
"""The advisory lock that everybody who appends shares."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Events one after the other: how many, one hash over all their own, how many had no seal of ours.

    `missing_keys` names the keys of seals that could not be looked at.
    """

    events: int
    digest: str
    unsealed: int
    missing_keys: Sequence[str] = ()


class Audit:
    """Events by claim, by time, and all of them page by page."""

    def __init__(self, connection: AsyncConnection, seals: Seals = UNSEALED) -> None:
        self._connection = connection
        self._seals = seals

    async def lock(self, chains: Collection[str], *, after: Select[Any] | None = None) -> None:
        """Wait until nobody else appends to these chains; on SQLite one writes at a time anyway.

        Rows that the query `after` locks are locked before, in the same statement: their number is known
        only when all of them are.
        """
        if self._connection.dialect.name != "postgresql":
            return
        keys = literal(sorted(map(_lock_key, chains)), ARRAY(BigInteger))
        shared = func.pg_advisory_xact_lock_shared(APPENDING)
        locks = select(shared, func.pg_advisory_xact_lock(func.unnest(keys)))
        if after is not None:
            rows = select(func.count().label("number")).select_from(after.cte("rows")).subquery()
            locks = select(rows.c.number, *locks.selected_columns)
        await self._connection.execute(locks)

    async def settled(self) -> int:
        """The number of the last event; who is about to append is waited for: none comes before it."""
        if self._connection.dialect.name == "postgresql":
            await self._connection.execute(select(func.pg_advisory_xact_lock(APPENDING)))
        return await self._connection.scalar(select(func.max(events.c.event_id))) or 0

    async def heads(self, claim_ids: Collection[str]) -> Mapping[str, Head]:
        """Where the chains of some claims end."""
        ends = (
            select(events.c.claim_id, func.max(events.c.sequence))
            .where(among(self._connection, events.c.claim_id, claim_ids))
            .group_by(events.c.claim_id)
        )
        query = select(events.c.claim_id, events.c.sequence, events.c.hash, events.c.at).where(
            tuple_(events.c.claim_id, events.c.sequence).in_(ends)
        )
        rows = await self._connection.execute(query)
        return {row.claim_id: Head(row.sequence, row.hash, row.at) for row in rows}

    async def append(self, sealed: Iterable[AuditEvent]) -> None:
        """Append events that know their place, each with the seal of the present key."""
        await self._connection.execute(insert(events), [self._row(event) for event in sealed])

    def _row(self, event: AuditEvent) -> dict[str, Any]:
        return {name: getattr(event, name) for name in WRITTEN} | self._seals.of_event(event.hash)

    async def of_claim(self, claim_id: str) -> Sequence[AuditEvent]:
        """A claim's events, oldest first."""
        query = select(*COLUMNS).where(events.c.claim_id == claim_id).order_by(events.c.sequence)
        return [_event(row) for row in await self._connection.execute(query)]

    async def seal_of(self, claim_id: str) -> SealState:
        """Whether a claim's own chain is whole."""
        return seal_state(await self.of_claim(claim_id), self._seals)

    async def trail_of(self, chain: str, limit: int) -> ReadTrail:
        """The newest events of a chain, each judged."""
        query = select(*COLUMNS).where(events.c.claim_id == chain).order_by(events.c.sequence.desc())
        found = [_event(row) for row in await self._connection.execute(query.limit(limit + 1))]
        return read_trail(found[:limit][::-1], self._seals, is_cut=len(found) > limit)

    async def page(self, after: tuple[str, int], limit: int = 1_000) -> Sequence[AuditEvent]:
        """Events of all claims, chain by chain, after a place in that order."""
        place = tuple_(events.c.claim_id, events.c.sequence)
        query = select(*COLUMNS).where(place > tuple_(*after)).order_by(events.c.claim_id, events.c.sequence)
        return [_event(row) for row in await self._connection.execute(query.limit(limit))]

    async def digest(self, start: datetime, end: datetime) -> tuple[int, str]:
        """How many events a span of time has, and one hash over all their seals, row by row."""
        query = (
            select(events.c.hash)
            .where(events.c.at >= start, events.c.at < end)
            .order_by(events.c.claim_id, events.c.sequence)
        )
        number, total = 0, sha256()
        async with self._connection.stream_scalars(query) as hashes:
            async for one in hashes:
                number += 1
                total.update(one.encode())
        return number, total.hexdigest()

    async def digest_between(self, first: int, last: int) -> Digest:
        """The same over events by their numbers, which no clock can move."""
        query = (
            select(events.c.hash, events.c.seal, events.c.seal_key)
            .where(events.c.event_id >= first, events.c.event_id <= last)
            .order_by(events.c.event_id)
        )
        number, unsealed, total = 0, 0, sha256()
        missing: set[str] = set()
        async with self._connection.stream(query) as rows:
            async for row in rows:
                number += 1
                unsealed += self._seals.judge_event(*row) is not Judgement.TRUE
                missing |= self._seals.missing_of(row.seal, row.seal_key)
                total.update(row.hash.encode())
        return Digest(number, total.hexdigest(), unsealed, sorted(missing))

    async def first_after(self, moment: datetime) -> int:
        """The number of the first event from a moment on, or of the one that will be next."""
        found = await self._connection.scalar(
            select(func.min(events.c.event_id)).where(events.c.at >= moment)
        )
        last = await self._connection.scalar(select(func.max(events.c.event_id)))
        return found or (last or 0) + 1

    async def moment_from(self, number: int) -> datetime | None:
        """The earliest time of the events from a number on, if there are any."""
        query = select(events.c.at).where(events.c.event_id >= number).order_by(events.c.at).limit(1)
        found: datetime | None = await self._connection.scalar(query)
        return found


def _lock_key(chain: str) -> int:
    """The same number in every worker; in their order nobody waits in a circle."""
    return int.from_bytes(sha256(chain.encode()).digest()[:8], signed=True)


def _event(row: Row[Any]) -> AuditEvent:
    return AuditEvent(**row._mapping)
