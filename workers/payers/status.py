"""What people see of a payer: state, reason, what waits, what is under way, its limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.breaker import BY_HAND
from domain.payer_status import PayerLimits, PayerStatus
from persistence.repositories.operator_orders import KeptOrder
from persistence.store import Store, Transaction
from workers.payers.limits import LimitsByPayer

HOLDING = ("pause", "trip")


@dataclass(frozen=True, slots=True)
class PayerView:
    """One payer at one moment."""

    status: PayerStatus
    limits: PayerLimits
    waiting: int
    in_flight: int
    last_order: KeptOrder | None = None

    @property
    def pace(self) -> str:
        """The pace as people read it."""
        return f"{self.limits.per_minute}/min" if self.limits.per_minute else "no limit"

    @property
    def why(self) -> str:
        """Why it is in its state; for an order of a person, in that person's words."""
        order, said = self.last_order, self.status.reason
        return f"{said}: {order.reason}" if order and said in BY_HAND and order.action in HOLDING else said

    def windows(self, now: datetime) -> str:
        """Maintenance that is still to come or under way, and the daily hours."""
        spans = [f"{moment(w.start)} to {moment(w.end)}" for w in self.limits.windows if w.end > now]
        return "; ".join([*spans, *([f"hours {self.limits.hours}"] if self.limits.hours else [])])


async def overview(store: Store, limits: LimitsByPayer, now: datetime) -> Sequence[PayerView]:
    """All payers that are configured or were ever sent to, by id."""
    async with store.reading() as tx:
        known = {status.payer_id: status for status in await tx.payers.all()}
        new = {payer_id: PayerStatus(payer_id, now) for payer_id in limits.settings if payer_id not in known}
        return [await _view(tx, status, limits, now) for _, status in sorted((known | new).items())]


async def _view(tx: Transaction, status: PayerStatus, limits: LimitsByPayer, now: datetime) -> PayerView:
    waiting = await tx.payers.count_waiting(status.payer_id)
    in_flight = await tx.payers.in_flight(status.payer_id, now=now)
    order = await tx.orders.latest_of_payer(status.payer_id)
    return PayerView(status, limits.of(status.payer_id), waiting, in_flight, order)


def moment(at: datetime | None) -> str:
    """A moment to the second, or nothing."""
    return "" if at is None else at.isoformat(timespec="seconds")
