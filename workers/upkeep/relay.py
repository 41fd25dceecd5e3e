"""The relay: carries facts from the outbox to the message queue, in order, until they have arrived."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from domain.ports import Clock
from gateways.sink import EventSink, OutgoingEvent, SinkError
from persistence.database.trouble import DatabaseError
from persistence.repositories.outbox import Lag, OutboxEvent, WaitingEvent
from persistence.store import Store, Transaction
from workers.runtime.timings import Backoff

LEASE = "relay"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RelayTerms:
    """Its name among relays, how much at once, and how long it waits: in seconds, but for the lease."""

    name: str
    batch: int = 200
    idle: float = 0.5
    first_pause: float = 0.5
    longest_pause: float = 30.0
    lease: timedelta = timedelta(seconds=30)


class Relay:
    """One of possibly several; the lease lets one at a time carry, so that order is kept per claim."""

    def __init__(self, store: Store, sink: EventSink, clock: Clock, terms: RelayTerms) -> None:
        self._store = store
        self._sink = sink
        self._clock = clock
        self._terms = terms

    async def run(self, stop: asyncio.Event, rng: random.Random) -> None:
        """Carry until stopped; trouble on either side is waited out, longer each time, jittered by `rng`."""
        backoff = Backoff(rng, self._terms.first_pause, self._terms.longest_pause)
        while not stop.is_set():
            try:
                carried = await self.carry()
                backoff.start_over()
                if carried < self._terms.batch:
                    await _rest(stop, self._terms.idle)
            except (SinkError, DatabaseError) as error:
                pause = backoff.pause()
                log.warning("relay_waits", why=str(error), seconds=round(pause, 1))
                await _rest(stop, pause)
        await self._give_back()

    async def carry(self) -> int:
        """One batch: sent, then marked as sent; a crash between the two sends it again."""
        now = await self._clock.now()
        events = await self._store.run(lambda tx: self._take(tx, now))
        if not events:
            return 0
        await self._sink.send([_outgoing(event) for event in events])
        positions = [event.position for event in events]
        await self._store.run(lambda tx: tx.outbox.published(positions, now=now))
        log.debug("relay_carried", events=len(events))
        return len(events)

    async def lag(self) -> Lag:
        """How many facts wait, and since when."""
        async with self._store.reading() as tx:
            return await tx.outbox.lag()

    async def _take(self, tx: Transaction, now: datetime) -> Sequence[WaitingEvent]:
        if not await tx.leases.take(LEASE, self._terms.name, now=now, length=self._terms.lease):
            return ()
        return await tx.outbox.unpublished(self._terms.batch)

    async def _give_back(self) -> None:
        with suppress(DatabaseError):
            await self._store.run(lambda tx: tx.leases.give_back(LEASE, self._terms.name))


def _outgoing(event: OutboxEvent) -> OutgoingEvent:
    return OutgoingEvent(event.event_id, event.claim_id, event.type, event.payload, event.created_at)


async def _rest(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
