"""What a person orders of a payer, whoever asks for it: kept with who and why before it is carried out."""

from dataclasses import dataclass
from datetime import datetime

import structlog

from domain.operators import Attribution
from domain.ports import Clock
from persistence.store import Store
from workers.claims.ordering import Subject, ordered
from workers.payers.admission import PayerChange
from workers.payers.limits import LimitsByPayer
from workers.payers.orders import Orders
from workers.payers.waking import Waker

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PayerSteering:
    """Holds payers' claims and lets them go; `waker` wakes whoever may go then."""

    store: Store
    limits: LimitsByPayer
    waker: Waker
    clock: Clock

    async def pause(self, payer_id: str, given: Attribution, *, until: datetime | None) -> PayerChange:
        """Hold all claims of the payer, until a moment or until `resume`."""
        now = await self.clock.now()
        async with ordered(self.store, "pause", Subject(payer_id=payer_id), given, now):
            change = await self._orders.pause(payer_id, now, reason=given.reason, until=until)
        return _told(change, given)

    async def trip(self, payer_id: str, given: Attribution) -> PayerChange:
        """Open the breaker as an outage would; it tries again by itself."""
        now = await self.clock.now()
        async with ordered(self.store, "trip", Subject(payer_id=payer_id), given, now):
            change = await self._orders.trip(payer_id, now, reason=given.reason)
        return _told(change, given)

    async def resume(self, payer_id: str, given: Attribution) -> PayerChange:
        """Let claims go again: one tries the credentials first, then those that waited."""
        now = await self.clock.now()
        async with ordered(self.store, "resume", Subject(payer_id=payer_id), given, now):
            change = await self._orders.resume(payer_id, now)
        return _told(change, given)

    @property
    def _orders(self) -> Orders:
        return Orders(self.store, self.limits, self.waker)


def _told(change: PayerChange, given: Attribution) -> PayerChange:
    after = change.after
    log.warning("payer_order", payer=after.payer_id, by=given.by, state=after.state, why=given.reason)
    return change
