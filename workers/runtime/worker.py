"""The worker: long polls for jobs, runs handlers within their limits, reports, drains."""

import asyncio
import random
import traceback
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import grpc
import structlog
from pyzeebe.proto.gateway_pb2 import ActivateJobsRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from workers.runtime.handler import JobHandler
from workers.runtime.job import Job, read_job
from workers.runtime.outcome import Fail, Outcome
from workers.runtime.reporting import Reporter

LONG_POLL = timedelta(seconds=10)
POLL_GRACE = timedelta(seconds=5)
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
TECHNICAL_BACKOFF = timedelta(seconds=5)
log = structlog.get_logger(__name__)


class Slots:
    """How many more jobs of a type may start; jobs are asked for only when one could."""

    def __init__(self, size: int) -> None:
        self.free = size
        self._any_free = asyncio.Event()
        self._any_free.set()

    async def wait_for_one(self) -> None:
        """Wait until at least one slot is free."""
        await self._any_free.wait()

    def take(self) -> None:
        """A job starts."""
        self.free -= 1
        if self.free <= 0:
            self._any_free.clear()

    def give_back(self) -> None:
        """A job ended."""
        self.free += 1
        self._any_free.set()


class Worker:
    """Serves a set of handlers on one channel until it is stopped."""

    def __init__(
        self, channel: grpc.aio.Channel, handlers: Sequence[JobHandler], *, name: str, rng: random.Random
    ) -> None:
        self._stub: Any = GatewayStub(channel)  # the stubs are typed for the blocking channel only
        self._reporter = Reporter(self._stub)
        self._handlers = handlers
        self._name = name
        self._rng = rng
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, stop: asyncio.Event, *, drain: timedelta = timedelta(seconds=20)) -> None:
        """Serve until `stop` is set, then let running jobs finish within the drain limit."""
        intakes = [asyncio.create_task(self._intake(handler)) for handler in self._handlers]
        stopping = asyncio.create_task(stop.wait())
        try:
            done, _ = await asyncio.wait([*intakes, stopping], return_when=asyncio.FIRST_COMPLETED)
            for ended in done - {stopping}:
                ended.result()
        finally:
            for task in (*intakes, stopping):
                task.cancel()
            await asyncio.gather(*intakes, stopping, return_exceptions=True)
            await self._drain(drain)

    async def _drain(self, limit: timedelta) -> None:
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=limit.total_seconds())
        for task in late:
            task.cancel()  # the engine gives the job to another worker when its lock ends

    async def _intake(self, handler: JobHandler) -> None:
        slots = Slots(handler.at_once)
        pause = FIRST_PAUSE
        while True:
            try:
                await self._poll(handler, slots)
                pause = FIRST_PAUSE
            except grpc.aio.AioRpcError as error:
                log.warning("poll_failed", type=handler.type, status=error.code().name, pause=round(pause, 1))
                await asyncio.sleep(pause * self._rng.uniform(0.5, 1.0))
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _poll(self, handler: JobHandler, slots: Slots) -> None:
        await slots.wait_for_one()
        request = ActivateJobsRequest(
            type=handler.type,
            worker=self._name,
            timeout=_millis(handler.lock),
            maxJobsToActivate=slots.free,
            fetchVariable=handler.variables,
            requestTimeout=_millis(LONG_POLL),
        )
        deadline = (LONG_POLL + POLL_GRACE).total_seconds()
        async for response in self._stub.ActivateJobs(request, timeout=deadline):
            for activated in response.jobs:
                self._start(handler, read_job(activated), slots)

    def _start(self, handler: JobHandler, job: Job, slots: Slots) -> None:
        slots.take()
        task = asyncio.create_task(self._work(handler, job))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(lambda _: slots.give_back())

    async def _work(self, handler: JobHandler, job: Job) -> None:
        outcome = await run_handler(handler, job)
        await self._reporter.report(job, outcome)


async def run_handler(handler: JobHandler, job: Job) -> Outcome:
    """The handler's answer; what it did not foresee is a technical failure that names no data."""
    try:
        async with asyncio.timeout(handler.time_limit.total_seconds()):
            return await handler.handle(job)
    except TimeoutError:
        limit = handler.time_limit.total_seconds()
        return Fail(f"{job.type} took longer than its limit of {limit:g} s", TECHNICAL_BACKOFF)
    except Exception as error:
        where = traceback.format_tb(error.__traceback__)  # without the message: it may quote variables
        log.error("job_crashed", job=job.key, type=job.type, error=type(error).__name__, where=where)  # noqa: TRY400
        return Fail(f"{job.type} failed: {type(error).__name__}", TECHNICAL_BACKOFF)


def _millis(duration: timedelta) -> int:
    return round(duration.total_seconds() * 1000)
