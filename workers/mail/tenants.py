"""Notes where the turns of companies stand, so that a command can show them: turns are kept in memory."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from domain.mail.fairness import TenantFairnessMetrics
from domain.mail.tenants import NOTE_EVERY, worth_noting
from domain.ports import Clock
from persistence.store import Store
from workers.mail.lane_order import FairOrder
from workers.runtime.beside import beside


class TenantNotes:
    """One worker's figures, written when they have changed."""

    def __init__(self, store: Store, clock: Clock, worker: str) -> None:
        self._store = store
        self._clock = clock
        self._worker = worker
        self._noted: Sequence[TenantFairnessMetrics] = ()

    async def note(self, order: FairOrder) -> int:
        """Write down what has changed since the last time; how many companies that were."""
        now, found = await self._clock.now(), order.metrics()
        if changed := worth_noting(self._noted, found):
            await self._store.run(lambda tx: tx.tenant_figures.note(self._worker, changed, now=now))
        self._noted = found
        return len(changed)


@asynccontextmanager
async def tenants_noted(notes: TenantNotes, order: FairOrder) -> AsyncIterator[None]:
    """Notes beside a block, and once more at its end; a database or clock that is away stops nobody."""
    try:
        async with beside(_keep_noting(notes, order)):
            yield
    finally:
        await _try_to_note(notes, order)


async def _keep_noting(notes: TenantNotes, order: FairOrder) -> None:
    while True:
        await asyncio.sleep(NOTE_EVERY.total_seconds())
        await _try_to_note(notes, order)


async def _try_to_note(notes: TenantNotes, order: FairOrder) -> None:
    """Figures for people: whatever is wrong, the worker goes on, and the next note has them."""
    with suppress(Exception):
        await notes.note(order)
