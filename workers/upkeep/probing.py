"""The five-minute look at all payers: who is there, who may be tried, who is to be woken."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from domain import breaker
from gateways.tiss.probe import is_up
from gateways.tiss.settings import PayerSettings
from persistence.store import Transaction
from workers.payers.admission import PayerChange, replanned
from workers.payers.waking import Waker

Probe = Callable[[PayerSettings], Awaitable[bool]]
LOST_AFTER = timedelta(hours=1)
AT_ONCE = 20


async def probe_all(waker: Waker, now: datetime, probe: Probe = is_up) -> int:
    """Probe every payer with a line once, let time do its part for all, wake who is due."""
    await waker.store.run(lambda tx: tx.payers.forget_lost(before=now - LOST_AFTER))
    async with waker.store.reading() as tx:
        seen = {status.payer_id for status in await tx.payers.all()}
    places = asyncio.Semaphore(AT_ONCE)

    async def one(payer_id: str) -> int:
        async with places:
            return await probe_one(waker, payer_id, now, probe)

    return sum(await asyncio.gather(*(one(payer_id) for payer_id in sorted(seen | {*waker.book.settings}))))


async def probe_one(waker: Waker, payer_id: str, now: datetime, probe: Probe = is_up) -> int:
    """Probe one payer, if it has a line; returns how many claims were woken."""
    settings = waker.book.settings.get(payer_id)
    up = None if settings is None else await probe(settings)
    change = await waker.store.run(lambda tx: _looked(tx, waker, payer_id, up, now))
    waker.tell(change)
    return await waker.wake(payer_id, now)


async def _looked(
    tx: Transaction, waker: Waker, payer_id: str, up: bool | None, now: datetime
) -> PayerChange:
    limits = waker.book.of(payer_id)
    before = await tx.payers.lock(payer_id, now=now)
    after = breaker.aged(before, now) if up is None else breaker.probed(before, now, up=up)
    after = await replanned(tx, before, after, limits, now)
    await tx.payers.save(after)
    return PayerChange(before, after)
