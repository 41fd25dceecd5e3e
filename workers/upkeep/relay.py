"""The relay: carries facts from the outbox to the message queue, in order, until they have arrived."""

import asyncio
import json
import random
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog

from domain.ports import Clock
from gateways.sink import EventSink, OutgoingEvent, SinkError
from persistence.database.trouble import DatabaseError
from persistence.repositories.outbox import Lag, OutboxEvent, UnreadableEvent, WaitingEvent
from persistence.store import Store, Transaction
from workers.runtime.timings import Backoff

LEASE = "relay"
Row = WaitingEvent | UnreadableEvent
log = structlog.get_logger(__name__)


def nobody_counts(_number: int) -> None:
    """Events set aside that are in no metric."""


@dataclass(frozen=True, slots=True)
class RelayTerms:
    """Its name among relays, how much at once, how long it waits (in seconds, but for the lease).

    `on_set_aside` hears how many rows cannot be published.
    """

    name: str
    batch: int = 200
    idle: float = 0.5
    first_pause: float = 0.5
    longest_pause: float = 30.0
    lease: timedelta = timedelta(seconds=30)
    on_set_aside: Callable[[int], None] = nobody_counts


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
            except Exception as error:  # whatever it is, events must go on being carried
                pause = backoff.pause()
                _warn(error, pause)
                await _rest(stop, pause)
        await self._give_back()

    async def carry(self) -> int:
        """One batch: sent, then marked as sent; a crash between the two sends it again."""
        now = await self._clock.now()
        events = await self._store.run(lambda tx: self._take(tx, now))
        if not events:
            return 0
        sound, spoilt = _sorted(events)
        if spoilt:
            await self._set_aside(spoilt, now)
        if sound:
            await self._sink.send([_outgoing(event) for event in sound])
            positions = [event.position for event in sound]
            await self._store.run(lambda tx: tx.outbox.published(positions, now=now))
        log.debug("relay_carried", events=len(sound))
        return len(events)

    async def replay(self, start: int, until: int) -> AsyncIterator[int]:
        """Send again what was published in these places, in order; yields how many after each batch.

        Nothing is marked: consumers know the events by their ids.
        """
        position = start - 1
        while position < until:
            events = await self._published_after(position, until)
            if not events:
                return
            sound, _ = _sorted(events)
            await self._sink.send([_outgoing(event) for event in sound])
            position = events[-1].position
            yield len(sound)

    async def _published_after(self, position: int, until: int) -> Sequence[Row]:
        batch = self._terms.batch
        return await self._store.look(lambda tx: tx.outbox.published_after(position, until, batch))

    async def _set_aside(self, spoilt: Sequence[UnreadableEvent], now: datetime) -> None:
        """They stay in the outbox for a person; the others go on without them."""
        positions = [event.position for event in spoilt]
        await self._store.run(lambda tx: tx.outbox.set_aside(positions, now=now))
        self._terms.on_set_aside(len(spoilt))
        for event in spoilt:
            log.error("event_set_aside", position=event.position, why=event.why)

    async def lag(self) -> Lag:
        """How many facts wait, and since when."""
        async with self._store.reading() as tx:
            return await tx.outbox.lag()

    async def _take(self, tx: Transaction, now: datetime) -> Sequence[Row]:
        if not await tx.leases.take(LEASE, self._terms.name, now=now, length=self._terms.lease):
            return ()
        return await tx.outbox.to_publish(self._terms.batch)

    async def _give_back(self) -> None:
        with suppress(Exception):  # the lease ends by itself
            await self._store.run(lambda tx: tx.leases.give_back(LEASE, self._terms.name))


def _warn(error: Exception, pause: float) -> None:
    """Foreseen trouble in its own words; what nobody foresaw by its kind and place, for it may quote data."""
    seconds = round(pause, 1)
    if isinstance(error, SinkError | DatabaseError):
        log.warning("relay_waits", why=str(error), seconds=seconds)
    else:
        where = traceback.format_tb(error.__traceback__)
        log.error("relay_crashed", error=type(error).__name__, where=where, seconds=seconds)


def _sorted(events: Sequence[Row]) -> tuple[Sequence[WaitingEvent], Sequence[UnreadableEvent]]:
    """Those that can be published, and those that cannot."""
    read = [event if isinstance(event, UnreadableEvent) else _checked(event) for event in events]
    sound = [event for event in read if isinstance(event, WaitingEvent)]
    return sound, [event for event in read if isinstance(event, UnreadableEvent)]


def _checked(event: WaitingEvent) -> Row:
    """The event, if every sink can write it and every consumer read it."""
    try:
        is_object = isinstance(json.loads(event.payload), dict)
        event.created_at.astimezone(UTC)
        "".join((event.event_id, event.claim_id, event.type, event.payload)).encode()
    except (AttributeError, OverflowError, TypeError, ValueError, RecursionError) as error:
        return UnreadableEvent(event.position, f"a column cannot be read ({type(error).__name__})")
    return event if is_object else UnreadableEvent(event.position, "its payload is no JSON object")


def _outgoing(event: OutboxEvent) -> OutgoingEvent:
    return OutgoingEvent(event.event_id, event.claim_id, event.type, event.payload, event.created_at)


async def _rest(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
