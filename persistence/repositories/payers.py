"""Payers as all workers share them: status under lock, claims that wait, sends that are under way."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Table, and_, bindparam, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.payer_status import PayerState, PayerStatus
from domain.slots import Slot, Wait
from persistence.database.dialect import among, insert_into
from persistence.database.rows import row_of
from persistence.database.wrong_clock import latest_end, tell_shortened
from persistence.tables import payer_sends as sends
from persistence.tables import payer_status as statuses
from persistence.tables import payer_waits as waits

READ_BEFORE = timedelta(seconds=10)
"""So much earlier a worker may have read its clock than another whose send began before it was asked."""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A send that has begun, and until when it counts if nobody says that it has ended."""

    claim_id: str
    attempt: int
    payer_id: str
    until: datetime


class Payers:
    """Payers by id; whoever changes one locks its row first, so races end here."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def lock(self, payer_id: str, *, now: datetime) -> PayerStatus:
        """The payer's status, ours alone until the transaction ends; a payer never seen is healthy."""
        query = select(statuses).where(statuses.c.payer_id == payer_id).with_for_update()
        if (row := (await self._connection.execute(query)).one_or_none()) is not None:
            return _status(row)
        new = insert_into(self._connection, statuses).values(row_of(PayerStatus(payer_id, now)))
        await self._connection.execute(new.on_conflict_do_nothing())
        return _status((await self._connection.execute(query)).one())

    async def find(self, payer_id: str) -> PayerStatus | None:
        """The status as it stands, or None for a payer never seen."""
        found = await self._connection.execute(select(statuses).where(statuses.c.payer_id == payer_id))
        row = found.one_or_none()
        return None if row is None else _status(row)

    async def all(self) -> Sequence[PayerStatus]:
        """Every payer seen so far, by id."""
        rows = await self._connection.execute(select(statuses).order_by(statuses.c.payer_id))
        return [_status(row) for row in rows]

    async def save(self, status: PayerStatus) -> None:
        """Keep the status of a payer that this transaction has locked."""
        changed = update(statuses).where(statuses.c.payer_id == status.payer_id).values(row_of(status))
        await self._connection.execute(changed)

    async def in_flight(self, payer_id: str, *, now: datetime) -> int:
        """How many sends are under way; one whose worker died counts until its time is over."""
        query = select(func.count()).where(sends.c.payer_id == payer_id, sends.c.until > now)
        return await self._connection.scalar(query) or 0

    async def send_began(self, claim_id: str, attempt: int, payer_id: str, *, until: datetime) -> None:
        """Count a send as under way."""
        await self.sends_began([UnderWay(claim_id, attempt, payer_id, until)])

    async def sends_began(self, begun: Iterable[UnderWay]) -> None:
        """Count sends as under way."""
        new = insert_into(self._connection, sends).on_conflict_do_nothing()
        await self._connection.execute(new, [row_of(one) for one in begun])

    async def send_under_way(self, claim_id: str, *, now: datetime) -> datetime | None:
        """Until when a send of the claim may be under way, if one is."""
        return (await self.sends_under_way([claim_id], now=now)).get(claim_id)

    async def sends_under_way(self, claim_ids: Collection[str], *, now: datetime) -> Mapping[str, datetime]:
        """Until when sends of these claims may be under way; questions about them are none."""
        mine = among(self._connection, sends.c.claim_id, claim_ids)
        running = mine & (sends.c.attempt > 0) & (sends.c.until > now)
        query = select(sends.c.claim_id, func.max(sends.c.until)).where(running).group_by(sends.c.claim_id)
        return {row[0]: row[1] for row in await self._connection.execute(query)}

    async def shorten_sends(
        self, of: str, *, claim_id: str | None = None, now: datetime, longest: timedelta
    ) -> None:
        """Let sends of a payer, or of one claim, end no later than one that begins now."""
        latest = latest_end(now, longest)
        these = sends.c.claim_id == claim_id if claim_id else sends.c.payer_id == of
        ahead = update(sends).where(these, sends.c.until > latest + READ_BEFORE).values(until=latest)
        if number := (await self._connection.execute(ahead)).rowcount:
            tell_shortened("send", latest, payer=of, claim=claim_id, number=number)

    async def send_ended(self, claim_id: str, attempt: int) -> None:
        """Count it no more."""
        await self.sends_ended([(claim_id, attempt)])

    async def sends_ended(self, ended: Iterable[tuple[str, int]]) -> None:
        """Count sends no more."""
        mine = (sends.c.claim_id == bindparam("of")) & (sends.c.attempt == bindparam("number"))
        rows = [{"of": claim_id, "number": attempt} for claim_id, attempt in ended]
        await self._connection.execute(delete(sends).where(mine), rows)

    async def wait_of(self, claim_id: str) -> Wait | None:
        """The claim's wait, if it has one."""
        return (await self.waits_of([claim_id])).get(claim_id)

    async def waits_of(self, claim_ids: Collection[str]) -> Mapping[str, Wait]:
        """The waits of those of these claims that have one."""
        query = select(waits).where(among(self._connection, waits.c.claim_id, claim_ids))
        return {row.claim_id: _wait(row) for row in await self._connection.execute(query)}

    async def hold(self, wait: Wait) -> None:
        """Let a claim wait; it keeps the moment it began to."""
        await self.hold_all([wait])

    async def hold_all(self, held: Iterable[Wait]) -> None:
        """Let claims wait; each keeps the moment it began to."""
        new = insert_into(self._connection, waits)
        kept = ("claim_id", "since")
        changes = {column.name: new.excluded[column.name] for column in waits.c if column.name not in kept}
        statement = new.on_conflict_do_update(index_elements=[waits.c.claim_id], set_=changes)
        await self._connection.execute(statement, [row_of(wait) for wait in held])

    async def release(self, claim_id: str) -> None:
        """The claim waits no more."""
        await self.release_all([claim_id])

    async def release_all(self, claim_ids: Collection[str]) -> None:
        """The claims wait no more."""
        gone = delete(waits).where(among(self._connection, waits.c.claim_id, claim_ids))
        await self._connection.execute(gone)

    async def set_deadline(self, claim_id: str, deadline: datetime | None) -> None:
        """Another deadline of a claim that waits: whose turn is next follows it."""
        mine = update(waits).where(waits.c.claim_id == claim_id)
        await self._connection.execute(mine.values(deadline=deadline))

    async def count_waiting(self, payer_id: str) -> int:
        """How many claims wait for the payer."""
        return await self._connection.scalar(select(func.count()).where(waits.c.payer_id == payer_id)) or 0

    async def next_waiting(self, status: PayerStatus, *, lost_before: datetime, limit: int) -> Sequence[Wait]:
        """Claims without a slot, nearest deadline first; then those whose slot has passed so long ago.

        Whoever did not come may never come: the others must not stand behind it.
        """
        found = await self._urgent(status, ~_has_slot(status), limit)
        if len(found) < limit:
            missed = and_(_has_slot(status), waits.c.slot_at < lost_before)
            found += await self._urgent(status, missed, limit - len(found))
        return found

    async def _urgent(self, status: PayerStatus, which: ColumnElement[bool], limit: int) -> list[Wait]:
        query = select(waits).where(waits.c.payer_id == status.payer_id, which)
        order = (waits.c.deadline.nulls_last(), waits.c.since, waits.c.claim_id)
        return [_wait(row) for row in await self._connection.execute(query.order_by(*order).limit(limit))]

    async def count_late(self, status: PayerStatus, after: datetime, now: datetime) -> int:
        """How many had their slot since a moment and have not come."""
        query = select(func.count()).where(waits.c.payer_id == status.payer_id, _has_slot(status))
        late = query.where(waits.c.slot_at >= after, waits.c.slot_at <= now)
        return await self._connection.scalar(late) or 0

    async def give_slots(self, slots: Iterable[Slot], *, now: datetime) -> None:
        """Keep slots, given at this moment."""
        rows = [{"of": slot.claim_id, "at": slot.at} for slot in slots]
        if not rows:
            return
        statement = update(waits).where(waits.c.claim_id == bindparam("of"))
        await self._connection.execute(statement.values(slot_at=bindparam("at"), woken_at=now), rows)

    async def forget_lost(self, *, before: datetime, limit: int) -> int:
        """Remove some waits and sends nobody came back for; a claim that still does starts anew."""
        return await self._remove(waits, before, limit) + await self._remove(sends, before, limit)

    async def _remove(self, table: Table, before: datetime, limit: int) -> int:
        lost = select(table.c.claim_id).where(table.c.until < before).order_by(table.c.until).limit(limit)
        claims = list((await self._connection.execute(lost)).scalars())
        gone = delete(table).where(table.c.claim_id.in_(claims), table.c.until < before)
        return (await self._connection.execute(gone)).rowcount


def _has_slot(status: PayerStatus) -> ColumnElement[bool]:
    """As `domain.slots.slot_of` says; never unknown."""
    given = func.coalesce(waits.c.woken_at >= status.changed_at, False)
    return and_(waits.c.slot_at.is_not(None), given)


def _status(row: Row[Any]) -> PayerStatus:
    values = dict(row._mapping)  # the public name of a row's values
    return PayerStatus(**(values | {"state": PayerState(row.state)}))


def _wait(row: Row[Any]) -> Wait:
    return Wait(**row._mapping)
