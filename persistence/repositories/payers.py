"""Payers as all workers share them: status under lock, claims that wait, sends that are under way."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Table, and_, bindparam, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.payer_status import PayerState, PayerStatus
from domain.slots import Slot, Wait
from persistence.database.dialect import insert_into
from persistence.database.rows import row_of
from persistence.database.wrong_clock import latest_end, tell_shortened
from persistence.tables import payer_sends as sends
from persistence.tables import payer_status as statuses
from persistence.tables import payer_waits as waits


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
        row = {"claim_id": claim_id, "attempt": attempt, "payer_id": payer_id, "until": until}
        await self._connection.execute(
            insert_into(self._connection, sends).values(row).on_conflict_do_nothing()
        )

    async def send_under_way(self, claim_id: str, *, now: datetime) -> datetime | None:
        """Until when a send of the claim may be under way, if one is; questions about it are none."""
        mine = (sends.c.claim_id == claim_id) & (sends.c.attempt > 0) & (sends.c.until > now)
        until: datetime | None = await self._connection.scalar(select(func.max(sends.c.until)).where(mine))
        return until

    async def shorten_sends(
        self, of: str, *, claim_id: str | None = None, now: datetime, longest: timedelta
    ) -> None:
        """Let sends of a payer, or of one claim, end no later than one that begins now."""
        latest = latest_end(now, longest)
        these = sends.c.claim_id == claim_id if claim_id else sends.c.payer_id == of
        ahead = update(sends).where(these, sends.c.until > latest).values(until=latest)
        if number := (await self._connection.execute(ahead)).rowcount:
            tell_shortened("send", latest, payer=of, claim=claim_id, number=number)

    async def send_ended(self, claim_id: str, attempt: int) -> None:
        """Count it no more."""
        mine = delete(sends).where(sends.c.claim_id == claim_id, sends.c.attempt == attempt)
        await self._connection.execute(mine)

    async def wait_of(self, claim_id: str) -> Wait | None:
        """The claim's wait, if it has one."""
        found = await self._connection.execute(select(waits).where(waits.c.claim_id == claim_id))
        row = found.one_or_none()
        return None if row is None else _wait(row)

    async def hold(self, wait: Wait) -> None:
        """Let a claim wait; it keeps the moment it began to."""
        row = row_of(wait)
        statement = insert_into(self._connection, waits).values(row)
        changes = {name: value for name, value in row.items() if name not in ("claim_id", "since")}
        await self._connection.execute(
            statement.on_conflict_do_update(index_elements=[waits.c.claim_id], set_=changes)
        )

    async def release(self, claim_id: str) -> None:
        """The claim waits no more."""
        await self._connection.execute(delete(waits).where(waits.c.claim_id == claim_id))

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
