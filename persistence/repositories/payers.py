"""Payers as all workers share them: status under lock, claims that wait, sends that are under way."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, bindparam, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.payer_status import PayerState, PayerStatus
from domain.slots import Slot, Wait
from persistence.database.dialect import insert_into
from persistence.database.rows import row_of
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
        """Let a claim wait; it may be woken again, and keeps the moment it began to wait."""
        row = row_of(wait) | {"woken_at": None}
        statement = insert_into(self._connection, waits).values(row)
        changes = {name: value for name, value in row.items() if name not in ("claim_id", "since")}
        await self._connection.execute(
            statement.on_conflict_do_update(index_elements=[waits.c.claim_id], set_=changes)
        )

    async def release(self, claim_id: str) -> None:
        """The claim waits no more."""
        await self._connection.execute(delete(waits).where(waits.c.claim_id == claim_id))

    async def waiting(self, payer_id: str) -> Sequence[Wait]:
        """All claims that wait for the payer."""
        rows = await self._connection.execute(select(waits).where(waits.c.payer_id == payer_id))
        return [_wait(row) for row in rows]

    async def count_waiting(self, payer_id: str) -> int:
        """How many claims wait for the payer."""
        return await self._connection.scalar(select(func.count()).where(waits.c.payer_id == payer_id)) or 0

    async def give_slots(self, slots: Iterable[Slot]) -> None:
        """Keep planned slots; those that had been woken for an older one may be woken again."""
        rows = [{"of": slot.claim_id, "at": slot.at} for slot in slots]
        if not rows:
            return
        statement = update(waits).where(waits.c.claim_id == bindparam("of"))
        await self._connection.execute(statement.values(slot_at=bindparam("at"), woken_at=None), rows)

    async def due(
        self, payer_id: str, *, before: datetime, woken_before: datetime, limit: int
    ) -> Sequence[str]:
        """Claims whose slot comes soon, and before their own timer; the earliest first."""
        query = (
            select(waits.c.claim_id)
            .where(waits.c.payer_id == payer_id, waits.c.slot_at < before)
            .where(waits.c.slot_at < waits.c.until, _asleep(woken_before))
            .order_by(waits.c.slot_at)
            .limit(limit)
        )
        return list((await self._connection.execute(query)).scalars())

    async def most_urgent(self, payer_id: str, *, woken_before: datetime, limit: int) -> Sequence[str]:
        """Claims that wait, nearest deadline first."""
        query = (
            select(waits.c.claim_id)
            .where(waits.c.payer_id == payer_id, _asleep(woken_before))
            .order_by(waits.c.deadline.nulls_last(), waits.c.since, waits.c.claim_id)
            .limit(limit)
        )
        return list((await self._connection.execute(query)).scalars())

    async def woken(self, claim_ids: Sequence[str], *, now: datetime) -> None:
        """Remember who was woken."""
        done = update(waits).where(waits.c.claim_id.in_(claim_ids)).values(woken_at=now)
        await self._connection.execute(done)

    async def forget_lost(self, *, before: datetime) -> int:
        """Remove waits and sends nobody came back for; a claim that still does starts anew."""
        gone = await self._connection.execute(delete(waits).where(waits.c.until < before))
        ended = await self._connection.execute(delete(sends).where(sends.c.until < before))
        return gone.rowcount + ended.rowcount


def _asleep(woken_before: datetime) -> ColumnElement[bool]:
    """Not woken, or woken so long ago that the wake-up must have been lost."""
    return or_(waits.c.woken_at.is_(None), waits.c.woken_at < woken_before)


def _status(row: Row[Any]) -> PayerStatus:
    values = dict(row._mapping)  # the public name of a row's values
    return PayerStatus(**(values | {"state": PayerState(row.state)}))


def _wait(row: Row[Any]) -> Wait:
    return Wait(row.claim_id, row.payer_id, row.since, row.until, row.slot_at, row.deadline)
