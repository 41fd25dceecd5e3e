"""Whether the orders on record are those that were sealed, and no other."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.retention import LOG_YEARS_AT_LEAST, YEAR
from persistence.audit.chain import AuditEvent
from persistence.audit.event_data import event_data
from persistence.audit.notes import NOTED
from persistence.repositories.operator_orders import ORDERED, REFUSED, OperatorOrder
from persistence.tables import operator_orders as orders

COLUMNS = tuple(OperatorOrder.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class SealedOrder:
    """An order as its chain tells of it."""

    chain: str
    facts: Mapping[str, object]
    at: datetime


@dataclass(slots=True)
class OrderCheck:
    """Gathers orders while the chains are read, then holds the records against them.

    Records from before `since` may be of an earlier version, which did not seal them.
    """

    since: datetime
    sealed: dict[int, SealedOrder] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)

    def see(self, chain: Sequence[AuditEvent]) -> None:
        """Take the orders out of a chain."""
        for event in chain:
            if event.event == NOTED and '"order":' in event.data:
                self._take(event, event_data(event))

    def _take(self, event: AuditEvent, data: dict[str, Any]) -> None:
        number, name = data.pop("order", None), data.pop("event", None)
        if not isinstance(number, int):
            return
        if name == ORDERED:
            self.sealed[number] = SealedOrder(event.claim_id, data, event.at)
        elif name == REFUSED:
            self.refused.add(number)

    async def problems(self, connection: AsyncConnection, now: datetime) -> AsyncIterator[tuple[str, str]]:
        """Where, and what; retention removes orders only after years."""
        kept = set()
        columns = (orders.c.order_id, orders.c.at, orders.c.refused_at, *(orders.c[name] for name in COLUMNS))
        for row in await connection.execute(select(*columns).order_by(orders.c.order_id)):
            kept.add(row.order_id)
            for what in self._differences(row):
                yield f"order {row.order_id}", what
        due = now - LOG_YEARS_AT_LEAST * YEAR
        for number in sorted(self.sealed.keys() - kept):
            if self.sealed[number].at >= due:
                yield f"order {number}", f"it was removed; {self.sealed[number].chain} still tells of it"

    def _differences(self, row: Row[Any]) -> Iterator[str]:
        order = OperatorOrder(*(getattr(row, name) for name in COLUMNS))
        sealed = self.sealed.get(row.order_id)
        if sealed is None:
            if row.at >= self.since:
                yield f"no event of {order.chain} tells of it: it was put in, or its event was removed"
            return
        if (sealed.chain, sealed.facts) != (order.chain, order.facts):
            yield f"it was changed: {_said(sealed.facts)} was sealed in {sealed.chain}"
        if (row.refused_at is not None) != (row.order_id in self.refused):
            yield "whether it was refused was changed"


def _said(facts: Mapping[str, object]) -> str:
    return f"{facts.get('action')} by {facts.get('by')}"
