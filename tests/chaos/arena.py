"""A worker and a faulty gateway, wave after wave of claims, and what must be true afterwards."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import grpc

from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from tests.chaos.effects import Effects
from tests.chaos.handlers import LOCK, SECRET, TYPES, ClaimHandler, claim, fate, type_of
from tests.support.faults import Cable, FaultyGateway, Rule, cable_to, faulty_gateway
from tests.support.logwatch import LogWatch, watching
from workers.app.logs import log_event
from workers.runtime import Timings
from workers.runtime.events import RuntimeEvent
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker

JOBS = 5_000
PATIENCE_SECONDS = 90.0
LOOK_SECONDS = 0.02
TIMINGS = Timings(long_poll=2.0, poll_grace=1.0, report_try=1.0, longest_pause=1.0, denied_pause=0.5)


@dataclass(frozen=True)
class Arena:
    """Everything a disturbance can lay hands on, and everything to judge by."""

    gateway: FaultyGateway
    cable: Cable
    handler: ClaimHandler
    effects: Effects
    logs: LogWatch
    worker: asyncio.Task[None]

    def create(self, numbers: range) -> None:
        """New claims."""
        for number in numbers:
            self.gateway.store.create(type_of(number), claim(number))

    async def ended(self, count: int) -> None:
        """Wait until so many jobs have ended; fails when the worker stops or takes for ever."""
        await until(lambda: self.worker.done() or self.gateway.ledger.ended >= count)
        if self.worker.done():
            raise AssertionError("the worker stopped") from self.worker.exception()
        assert self.gateway.ledger.ended >= count, f"jobs still open: {self.gateway.store.open_jobs()[:5]}"


Disturbance = Callable[[Arena], Awaitable[None]]


async def until(true: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    """Look again and again until it is true, or patience ends."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not true() and loop.time() < deadline:
        await asyncio.sleep(LOOK_SECONDS)


def plain_channel(address: str) -> grpc.aio.Channel:
    """The channel that the product opens."""
    return open_channel(Plaintext(address))


@asynccontextmanager
async def arena(
    *,
    cabled: bool = False,
    channel_to: Callable[[str], grpc.aio.Channel] = plain_channel,
    lock: timedelta = LOCK,
    effects: Effects | None = None,
    seed: int = 0,
) -> AsyncIterator[Arena]:
    """A gateway and a worker at work, with a cable between if asked for."""
    effects = effects or Effects()
    handler = ClaimHandler(effects, lock)
    with watching(SECRET) as logs:
        async with faulty_gateway(seed) as gateway, cable_to(gateway.port) as cable:
            address = cable.address if cabled else gateway.address
            async with channel_to(address) as channel, working(channel, handler, logs, seed) as worker:
                yield Arena(gateway, cable, handler, effects, logs, worker)
    effects.close()


@asynccontextmanager
async def working(
    channel: grpc.aio.Channel, handler: ClaimHandler, logs: LogWatch, seed: int
) -> AsyncIterator[asyncio.Task[None]]:
    """A worker for as long as the block runs; it must end in peace when asked to."""
    stop = asyncio.Event()

    def listener(event: RuntimeEvent) -> None:
        logs.note(event)
        log_event(event)

    options = WorkerOptions("chaos", random.Random(seed), listener=listener, timings=TIMINGS)
    worker = Worker(channel, handler.by_type(), options)
    running = asyncio.create_task(worker.run(stop, drain=timedelta(seconds=5)))
    try:
        yield running
    finally:
        stop.set()
        await running


async def storm(
    here: Arena, rules: Sequence[Rule] = (), disturbances: Sequence[Disturbance] = (), jobs: int = JOBS
) -> None:
    """All the claims under these faults: a wave before each disturbance, and one after the last."""
    here.gateway.faults.switch(*rules)
    waves = max(len(disturbances), 4) + 1
    bounds = [jobs * wave // waves for wave in range(waves + 1)]
    for wave in range(waves):
        here.create(range(bounds[wave], bounds[wave + 1]))
        await here.ended((bounds[wave] + bounds[wave + 1]) // 2)
        if wave < len(disturbances):
            await disturbances[wave](here)
    await here.ended(jobs)


def all_is_well(here: Arena, jobs: int = JOBS) -> None:
    """Nothing lost, nothing doubled, no limit broken, no secret leaked, no run that contradicts itself."""
    ledger = here.gateway.ledger
    assert [story.end for story in ledger.stories.values()] == [fate(number) for number in range(jobs)]
    assert (here.effects.keys, here.effects.doubled) == (jobs, 0)
    assert all(here.handler.most_at_once[type_] <= limit for type_, limit in TYPES.items())
    assert ledger.runs.contradictions == []
    assert here.handler.unwanted == set()
    assert here.logs.leaks == []
    assert here.logs.errors == []
