"""The orders of people, each kept before it is carried out, and sealed with who and why."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.repositories.noting import Noting, payer_chain
from persistence.tables import operator_orders as orders

ORDERED, REFUSED = "ordered", "order_refused"
NO_SUBJECT = "@orders"
"""The chain of orders about no claim and no payer; no claim's id begins like this."""


@dataclass(frozen=True, slots=True)
class OperatorOrder:
    """What somebody asked for, about a claim or a payer (empty: about none), and why.

    Who and why are texts that `domain.operators` has made fit to be kept.
    """

    action: str
    ordered_by: str
    reason: str
    claim_id: str = ""
    payer_id: str = ""

    def __str__(self) -> str:
        """The order as people read it."""
        return f"{self.action} by {self.ordered_by}: {self.reason}"

    @property
    def chain(self) -> str:
        """Whose audit trail it belongs to."""
        return self.claim_id or (payer_chain(self.payer_id) if self.payer_id else NO_SUBJECT)

    @property
    def facts(self) -> dict[str, object]:
        """What is sealed of it, beside the chain it is sealed in."""
        also = {"payer": self.payer_id} if self.claim_id and self.payer_id else {}
        return {"action": self.action, "by": self.ordered_by, "reason": self.reason, **also}


@dataclass(frozen=True, slots=True)
class KeptOrder(OperatorOrder):
    """An order on record."""

    order_id: int = 0
    at: datetime | None = None
    refused_at: datetime | None = None


class OperatorOrders:
    """Orders in the order they were given; one that was refused says so."""

    def __init__(self, connection: AsyncConnection, notes: Noting) -> None:
        self._connection = connection
        self._notes = notes

    async def keep(self, order: OperatorOrder, *, now: datetime) -> int:
        """Keep an order, sealed; returns its id."""
        row = {name: getattr(order, name) for name in OperatorOrder.__dataclass_fields__} | {"at": now}
        kept = await self._connection.execute(insert(orders).values(row).returning(orders.c.order_id))
        order_id = int(kept.scalar_one())
        await self._notes.add(order.chain, ORDERED, {"order": order_id, **order.facts}, now=now)
        return order_id

    async def refused(self, order_id: int, *, now: datetime) -> None:
        """Note that nothing came of it, sealed too."""
        mine = orders.c.order_id == order_id
        await self._connection.execute(update(orders).where(mine).values(refused_at=now))
        columns = [orders.c[name] for name in OperatorOrder.__dataclass_fields__]
        order = OperatorOrder(*(await self._connection.execute(select(*columns).where(mine))).one())
        await self._notes.add(order.chain, REFUSED, {"order": order_id}, now=now)

    async def of_claim(self, order_id: int, claim_id: str) -> KeptOrder | None:
        """The order, if it is about this claim."""
        return await self._latest(orders.c.order_id == order_id, orders.c.claim_id == claim_id)

    async def about_claim(self, claim_id: str) -> Sequence[KeptOrder]:
        """All orders about a claim, oldest first."""
        columns = [orders.c[name] for name in KeptOrder.__dataclass_fields__]
        query = select(*columns).where(orders.c.claim_id == claim_id).order_by(orders.c.order_id)
        return [KeptOrder(**row._mapping) for row in await self._connection.execute(query)]

    async def latest_of_claim(
        self, claim_id: str, actions: Collection[str], *, since: datetime
    ) -> KeptOrder | None:
        """The newest of these orders about a claim, since a moment, that was not refused."""
        fits = orders.c.action.in_(sorted(actions)), orders.c.at >= since
        return await self._latest(orders.c.claim_id == claim_id, orders.c.refused_at.is_(None), *fits)

    async def latest_of_payer(self, payer_id: str) -> KeptOrder | None:
        """The newest order about a payer that was not refused."""
        return await self._latest(orders.c.payer_id == payer_id, orders.c.refused_at.is_(None))

    async def about_payer(self, payer_id: str, limit: int) -> Sequence[KeptOrder]:
        """The newest orders about a payer, newest first."""
        columns = [orders.c[name] for name in KeptOrder.__dataclass_fields__]
        query = select(*columns).where(orders.c.payer_id == payer_id)
        rows = await self._connection.execute(query.order_by(orders.c.order_id.desc()).limit(limit))
        return [KeptOrder(**row._mapping) for row in rows]

    async def newest(self, limit: int) -> Sequence[KeptOrder]:
        """The newest orders, in the order they were given."""
        columns = [orders.c[name] for name in KeptOrder.__dataclass_fields__]
        query = select(*columns).order_by(orders.c.order_id.desc()).limit(limit)
        found = [KeptOrder(**row._mapping) for row in await self._connection.execute(query)]
        return found[::-1]

    async def _latest(self, *which: ColumnElement[bool]) -> KeptOrder | None:
        columns = [orders.c[name] for name in KeptOrder.__dataclass_fields__]
        query = select(*columns).where(*which)
        found = await self._connection.execute(query.order_by(orders.c.order_id.desc()).limit(1))
        row = found.one_or_none()
        return None if row is None else KeptOrder(**row._mapping)
