"""Orders about many claims, claim by claim, so that whoever is up carries on with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, and_, bindparam, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.bulk_orders import TAKEN_FOR, BulkAction, BulkItemState, BulkState, NotDone
from persistence.database.dialect import one_at_a_time
from persistence.database.rows import row_of
from persistence.tables import bulk_items as items
from persistence.tables import bulk_orders as orders
from persistence.tables.bulk_orders import IS_GOING_ON, IS_LEFT

PLACING = 7205759403792795


@dataclass(frozen=True, slots=True)
class NewBulkOrder:
    """What somebody orders of many claims; `selection` is the address of their list."""

    action: BulkAction
    state: BulkState
    selection: str
    number: int
    ordered_by: str
    login: str
    reason: str
    ordered_at: datetime


@dataclass(frozen=True, slots=True)
class BulkOrder(NewBulkOrder):
    """An order on record."""

    bulk_id: int
    confirmed_by: str | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewBulkItem:
    """One claim of an order, and its turn."""

    claim_id: str
    payer_id: str
    review_id: int | None
    position: int
    due_at: datetime


@dataclass(frozen=True, slots=True)
class BulkItem(NewBulkItem):
    """One claim of an order on record; one that was `taken_at` before may have been carried out already."""

    bulk_id: int
    state: BulkItemState
    why: NotDone | None = None
    taken_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ItemEnd:
    """What came of one claim."""

    state: BulkItemState
    why: NotDone | None = None


@dataclass(frozen=True, slots=True)
class BulkProgress:
    """How many of an order's claims stand where, why some did not go on, and when the last one's turn is."""

    states: Mapping[BulkItemState, int]
    not_done: Mapping[NotDone, int]
    last_due: datetime | None

    def of(self, *states: BulkItemState) -> int:
        """How many are in these states."""
        return sum(self.states.get(state, 0) for state in states)


class BulkOrders:
    """Keeps orders and their items."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def one_at_a_time(self) -> None:
        """Wait for whoever places one right now: each sees which claims the one before has taken."""
        await one_at_a_time(self._connection, PLACING)

    async def place(self, new: NewBulkOrder, chosen: Sequence[NewBulkItem]) -> int:
        """Keep an order with all of its claims; its id."""
        kept = await self._connection.execute(insert(orders).values(row_of(new)).returning(orders.c.bulk_id))
        bulk_id = int(kept.scalar_one())
        fixed = {"bulk_id": bulk_id, "state": BulkItemState.PENDING}
        await self._connection.execute(insert(items), [row_of(one) | fixed for one in chosen])
        return bulk_id

    async def find(self, bulk_id: int) -> BulkOrder | None:
        """The order."""
        row = (
            await self._connection.execute(select(orders).where(orders.c.bulk_id == bulk_id))
        ).one_or_none()
        return None if row is None else _order(row)

    async def newest(self, limit: int) -> Sequence[BulkOrder]:
        """The newest orders, newest first."""
        query = select(orders).order_by(orders.c.bulk_id.desc()).limit(limit)
        return [_order(row) for row in await self._connection.execute(query)]

    async def going_on(self) -> Sequence[BulkOrder]:
        """Those that run or wait for a second person, oldest first."""
        query = select(orders).where(IS_GOING_ON).order_by(orders.c.bulk_id)
        return [_order(row) for row in await self._connection.execute(query)]

    async def move(self, bulk_id: int, before: BulkState, state: BulkState, **changes: object) -> bool:
        """Another state; False when somebody was first."""
        mine = (orders.c.bulk_id == bulk_id) & (orders.c.state == before)
        moved = update(orders).where(mine).values(state=state, **changes)
        return (await self._connection.execute(moved)).rowcount == 1

    async def replan(self, bulk_id: int, due: Mapping[str, datetime]) -> None:
        """Other turns, by claim."""
        mine = (items.c.bulk_id == bulk_id) & (items.c.claim_id == bindparam("of"))
        rows = [{"of": claim_id, "at": at} for claim_id, at in due.items()]
        await self._connection.execute(update(items).where(mine).values(due_at=bindparam("at")), rows)

    async def take(self, bulk_id: int, *, now: datetime, limit: int) -> Sequence[BulkItem]:
        """The next whose turn has come, ours alone for a while; as they were before."""
        free = or_(items.c.state == BulkItemState.PENDING, items.c.taken_at < now - TAKEN_FOR)
        due = select(items).where(items.c.bulk_id == bulk_id, IS_LEFT, free, items.c.due_at <= now)
        query = due.order_by(items.c.due_at, items.c.position).limit(limit).with_for_update(skip_locked=True)
        found = [_item(row) for row in await self._connection.execute(query)]
        for item in found:
            taken = {"state": BulkItemState.TAKEN, "taken_at": now}
            await self._connection.execute(update(items).where(_same(item)).values(taken))
        return found

    async def ended(self, item: BulkItem, end: ItemEnd, *, now: datetime) -> None:
        """What came of a claim."""
        values = {"state": end.state, "why": end.why, "ended_at": now}
        await self._connection.execute(update(items).where(_same(item)).values(values))

    async def give_back(self, item: BulkItem) -> None:
        """Nothing came of it yet: its turn is still to come."""
        values = {"state": BulkItemState.PENDING}
        await self._connection.execute(update(items).where(_same(item)).values(values))

    async def skip_rest(self, bulk_id: int, *, now: datetime) -> None:
        """Those whose turn has not come do not get one."""
        pending = (items.c.bulk_id == bulk_id) & (items.c.state == BulkItemState.PENDING)
        values = {"state": BulkItemState.SKIPPED, "why": NotDone.STOPPED, "ended_at": now}
        await self._connection.execute(update(items).where(pending).values(values))

    async def items(self, bulk_id: int, limit: int, *states: BulkItemState) -> Sequence[BulkItem]:
        """Some of an order's claims in their order; all states, or these."""
        query = select(items).where(items.c.bulk_id == bulk_id).order_by(items.c.position).limit(limit)
        if states:
            query = query.where(items.c.state.in_([state.value for state in states]))
        return [_item(row) for row in await self._connection.execute(query)]

    async def progress(self, bulk_id: int) -> BulkProgress:
        """How far an order has come."""
        columns = items.c.state, items.c.why
        query = select(*columns, func.count(), func.max(items.c.due_at)).where(items.c.bulk_id == bulk_id)
        states: dict[BulkItemState, int] = {}
        not_done: dict[NotDone, int] = {}
        last: datetime | None = None
        for state, why, number, due in await self._connection.execute(query.group_by(*columns)):
            states[BulkItemState(state)] = states.get(BulkItemState(state), 0) + number
            if why:
                not_done[NotDone(why)] = not_done.get(NotDone(why), 0) + number
            last = max(last or due, due)
        return BulkProgress(states, not_done, last)

    async def open_claims(self, bulk_id: int) -> int:
        """How many claims are still to come."""
        query = select(func.count()).where(items.c.bulk_id == bulk_id, IS_LEFT)
        return await self._connection.scalar(query) or 0


def _same(item: BulkItem) -> Any:
    return and_(items.c.bulk_id == item.bulk_id, items.c.claim_id == item.claim_id)


def _order(row: Row[Any]) -> BulkOrder:
    read = {"action": BulkAction(row.action), "state": BulkState(row.state)}
    return BulkOrder(**(dict(row._mapping) | read))


def _item(row: Row[Any]) -> BulkItem:
    why = NotDone(row.why) if row.why else None
    return BulkItem(**(dict(row._mapping) | {"state": BulkItemState(row.state), "why": why}))
