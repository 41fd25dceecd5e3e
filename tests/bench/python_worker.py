"""The Python contenders as a program: `python -m tests.bench.python_worker NAME ADDRESS`."""

import asyncio
import logging
import random
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

from pyzeebe import ZeebeWorker, create_insecure_channel

from domain.inputs import PAYER_ID, VARIABLES
from gateways.clock import WallClock
from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from tests.bench.names import TELEMETRY, Name
from tests.support.builders import draft
from workers.app.cluster import Cluster
from workers.app.composition import App, running
from workers.app.logs import configure_logs
from workers.app.measuring import measured
from workers.config.settings import read_settings
from workers.jobs.decisions import analyze_retry
from workers.runtime import Complete, Job, JobHandler, Outcome
from workers.runtime.options import WorkerOptions
from workers.runtime.outcome import from_json
from workers.runtime.worker import Worker

HELD = 256
BATCH = 128
GENTLY_HELD, GENTLE_BATCH = 64, 32  # few enough that the broker does not refuse its polls
POLL_PAUSE_SECONDS = 0.005
SCRAPE_SECONDS = 5.0
DECIDED = from_json(draft(profile="RN-BIL-005", count=1).result)
Serve = Callable[[str], Awaitable[None]]


@asynccontextmanager
async def pyzeebe_defaults(address: str) -> AsyncIterator[Serve]:
    """Stock pyzeebe as its documentation shows it."""

    async def serve(job_type: str) -> None:
        worker: Any = ZeebeWorker(create_insecure_channel(address))  # its decorator knows no async handlers
        worker.task(task_type=job_type)(_nothing)
        await worker.work()

    yield serve


def pyzeebe_tuned(*, held: int, batch: int) -> Callable[[str], AbstractAsyncContextManager[Serve]]:
    """Stock pyzeebe with settings that let it run."""

    @asynccontextmanager
    async def opened(address: str) -> AsyncIterator[Serve]:
        async def serve(job_type: str) -> None:
            channel = create_insecure_channel(address)
            # the annotation says int, the code takes any number of seconds
            worker: Any = ZeebeWorker(channel, poll_retry_delay=POLL_PAUSE_SECONDS)  # type: ignore[arg-type]
            worker.task(task_type=job_type, max_running_jobs=held, max_jobs_to_activate=batch)(_nothing)
            await worker.work()

        yield serve

    return opened


def ours(
    variables: tuple[str, ...], handle: Callable[[Job], Awaitable[Outcome]]
) -> Callable[[str], AbstractAsyncContextManager[Serve]]:
    """Our runtime with a handler that completes at once."""

    @asynccontextmanager
    async def opened(address: str) -> AsyncIterator[Serve]:
        async with open_channel(Plaintext(address)) as channel:

            async def serve(job_type: str) -> None:
                handler = JobHandler(type=job_type, variables=variables, handle=handle, at_once=HELD)
                await Worker(channel, [handler], WorkerOptions("bench", random.Random())).run(asyncio.Event())

            yield serve

    return opened


@asynccontextmanager
async def decision(address: str) -> AsyncIterator[Serve]:
    """Our real decision on the database that DATABASE_URL names; as many jobs held as without one."""
    async with running(read_settings(), Cluster(Plaintext(address), WallClock())) as app:
        handler = analyze_retry(app.services())

        async def serve(job_type: str) -> None:
            served = replace(handler, type=job_type, at_once=HELD)
            await Worker(app.channel, [served], WorkerOptions("bench", random.Random())).run(asyncio.Event())

        yield serve


@asynccontextmanager
async def watched_decision(address: str) -> AsyncIterator[Serve]:
    """The same as a worker has it: in its spans, told to its listeners, gauges read, metrics asked for."""
    settings = read_settings()
    configure_logs(settings.logs.level, "json")
    async with running(settings, Cluster(Plaintext(address), WallClock())) as app, measured(app):
        handler = app.watched(analyze_retry(app.services()))

        async def serve(job_type: str) -> None:
            served = replace(handler, type=job_type, at_once=HELD)
            options = WorkerOptions("bench", random.Random(), listener=app.listener)
            await Worker(app.channel, [served], options).run(asyncio.Event())

        async with asyncio.TaskGroup() as group:
            scraping = group.create_task(_scraped(app))
            yield serve
            scraping.cancel()


async def _scraped(app: App) -> None:
    """As Prometheus asks; more often, because a round is short."""
    while True:
        await asyncio.sleep(SCRAPE_SECONDS)
        await asyncio.to_thread(app.metering.metrics.exposition)


async def _nothing() -> None:
    """A handler for pyzeebe."""


async def _complete(_job: Job) -> Outcome:
    return Complete()


async def _answer(_job: Job) -> Outcome:
    """What the broker gets for a decision, from nobody's memory: its work for the variables is the same."""
    return DECIDED


OPEN: dict[Name, Callable[[str], AbstractAsyncContextManager[Serve]]] = {
    Name.PYZEEBE_DEFAULTS: pyzeebe_defaults,
    Name.PYZEEBE_TUNED: pyzeebe_tuned(held=HELD, batch=BATCH),
    Name.PYZEEBE_GENTLE: pyzeebe_tuned(held=GENTLY_HELD, batch=GENTLE_BATCH),
    Name.OURS: ours((), _complete),
    Name.ANSWER: ours((*VARIABLES, PAYER_ID), _answer),
    Name.DECISION_SQLITE: decision,
    Name.DECISION_POSTGRESQL: decision,
} | dict.fromkeys(TELEMETRY, watched_decision)


async def main(name: Name, address: str) -> None:
    """Serve each job type that comes in as a line, until the input ends."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with OPEN[name](address) as serve, asyncio.TaskGroup() as group:
        tasks = []
        while line := await lines.readline():
            job_type = line.decode().strip()
            tasks.append(group.create_task(_for_ever(serve, job_type)))
            print(f"serving {job_type}", flush=True)
        for task in tasks:
            task.cancel()


async def _for_ever(serve: Serve, job_type: str) -> None:
    await serve(job_type)
    raise RuntimeError(f"the worker for {job_type} ended by itself")


if __name__ == "__main__":
    logging.getLogger("pyzeebe").setLevel(logging.ERROR)  # a warning at each pause would cost it CPU time
    configure_logs("error", "json")
    asyncio.run(main(Name(sys.argv[1]), sys.argv[2]))
