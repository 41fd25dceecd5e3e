"""The five-minute look at all payers: who is there, who may be tried, who is to be woken."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.operators import Attribution
from domain.payer_status import PAGE
from gateways.tiss.probe import is_up
from gateways.tiss.settings import PayerSettings
from persistence.store import Store, Transaction
from workers.claims.ordering import Subject, ordered
from workers.payers.admission import PayerChange, locked
from workers.payers.limits import LimitsByPayer
from workers.payers.orders import Orders
from workers.payers.waking import Waker

Probe = Callable[[PayerSettings], Awaitable[bool | None]]
LOST_AFTER = timedelta(hours=1)
AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Probing:
    """Probes payers that have settings, lets time do its part for all, and wakes whoever is due."""

    store: Store
    limits: LimitsByPayer
    waker: Waker
    probe: Probe = is_up

    async def all(self, now: datetime) -> int:
        """Probe every payer; returns how many claims were woken."""
        while await self.store.run(lambda tx: tx.payers.forget_lost(before=now - LOST_AFTER, limit=PAGE)):
            pass
        async with self.store.reading() as tx:
            seen = {status.payer_id for status in await tx.payers.all()}
        places = asyncio.Semaphore(AT_ONCE)

        async def one(payer_id: str) -> int:
            async with places:
                return await self.one(payer_id, now)

        payers = sorted(seen | {*self.limits.settings})
        return sum(await asyncio.gather(*(one(payer_id) for payer_id in payers)))

    async def one(self, payer_id: str, now: datetime) -> int:
        """Probe one payer; returns how many claims were woken."""
        settings = self.limits.settings.get(payer_id)
        up = None if settings is None else await self.probe(settings)

        async def keep(tx: Transaction) -> PayerChange:
            payer = await locked(tx, payer_id, self.limits.of(payer_id), now)
            breaker = payer.breaker
            return await payer.change(breaker.aged().status if up is None else breaker.probed(up=up))

        self.waker.tell(await self.store.run(keep))
        return await self.waker.wake(payer_id, now)

    async def as_ordered(self, payer_id: str | None, given: Attribution, now: datetime) -> int:
        """Probe one payer, or every one, as a person asks, kept with who and why; how many were woken."""
        async with ordered(self.store, "probe", Subject(payer_id=payer_id or ""), given, now):
            if payer_id is None:
                return await self.all(now)
            await Orders(self.store, self.limits, self.waker).require(payer_id)
            return await self.one(payer_id, now)
