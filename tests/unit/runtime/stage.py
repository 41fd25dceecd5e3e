"""A worker beside a test, on a gateway that can be told to misbehave."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import grpc

from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from tests.support.faults import FaultyGateway
from workers.runtime import Complete, Job, JobHandler, Outcome, Timings
from workers.runtime.events import Listener, RuntimeEvent
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker

TYPE = "test"
QUICK = Timings(
    long_poll=0.5, poll_grace=0.5, report_try=0.5, refill_linger=0.01, denied_pause=0.2, longest_pause=0.2
)
Handle = Callable[[Job], Awaitable[Outcome]]


async def done(_job: Job) -> Outcome:
    return Complete({"ok": True})


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.01)


@dataclass(frozen=True, slots=True)
class Stage:
    """A worker that runs, and how it ends."""

    worker: Worker
    running: asyncio.Task[None]
    stop: asyncio.Event


@asynccontextmanager
async def on_stage(
    gateway: FaultyGateway,
    handler: JobHandler,
    listener: Listener,
    *,
    reopen: Callable[[], grpc.aio.Channel] | None = None,
    drain: timedelta = timedelta(seconds=5),
    timings: Timings = QUICK,
) -> AsyncIterator[Stage]:
    """A worker beside the block; at the end it is stopped, and its own error is the block's."""
    channel, stop = open_channel(Plaintext(gateway.address)), asyncio.Event()
    options = WorkerOptions("w", random.Random(1), reopen=reopen, listener=listener, timings=timings)
    worker = Worker(channel, [handler], options)
    running = asyncio.create_task(worker.run(stop, drain=drain))
    try:
        yield Stage(worker, running, stop)
    finally:
        stop.set()
        await asyncio.wait([running])
        await channel.close()
    running.result()


def collected() -> tuple[list[RuntimeEvent], Listener]:
    """Events, and who writes them there."""
    events: list[RuntimeEvent] = []
    return events, events.append
