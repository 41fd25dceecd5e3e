"""One job type at work: a job is taken, its lock checked, its handler run, its outcome reported."""

import asyncio
import time
import traceback
from collections.abc import Callable, Coroutine
from datetime import timedelta
from functools import partial
from typing import Any

import grpc

from workers.runtime.events import JobCrashed, JobExpired, Listener, nobody
from workers.runtime.gateway import Gateway
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.load import Load
from workers.runtime.outcome import Fail, HandBack, Outcome, incident_of
from workers.runtime.reporting import Reporter

HAND_BACK_SECONDS = 5.0
TECHNICAL_BACKOFF = timedelta(seconds=5)
FORGET_SECONDS = 60.0


class Executor:
    """Runs at most `at_once` handlers; every job taken is reported once, expired or handed back."""

    def __init__(
        self, handler: JobHandler, gateway: Gateway, *, reporter: Reporter, listener: Listener
    ) -> None:
        self.handler = handler
        self.load = Load(handler.at_once)
        self._gateway = gateway
        self._reporter = reporter
        self._emit = listener
        self._slots = asyncio.Semaphore(handler.at_once)
        self._lock_seconds = handler.lock.total_seconds()
        self._engine_time = EngineTime()
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: dict[int, Job] = {}
        self._answered: set[int] = set()

    def take(self, job: Job) -> None:
        """Hold the job and execute it as soon as a slot is free.

        A job that is delivered again while it is held here is left alone: its first run will settle it.
        """
        if job.key not in self._held:
            self._held[job.key] = job
            self._start(job, self._execute(job, until=self._end_of_lock(job)))

    async def _execute(self, job: Job, *, until: float) -> None:
        """The steps of one job; `until` is the end of our lock on it."""
        async with self._slots:
            begun = time.monotonic()
            if begun >= until:
                self._expire(job)
                return
            outcome = await self._run(job)
            await self._report(job, outcome, begun=begun, until=until)

    def _end_of_lock(self, job: Job) -> float:
        """By our monotonic clock, whatever the engine's says."""
        lock = self._lock_seconds
        left = lock if job.deadline is None else self._engine_time.left(job.deadline, lock)
        return time.monotonic() + left

    def _expire(self, job: Job) -> None:
        """Leave it: the engine gives it to somebody again."""
        self._emit(JobExpired(job.type, job.key))

    async def _run(self, job: Job) -> Outcome:
        """Run the handler; if it may outlast its lock, the lock is extended meanwhile."""
        if self.handler.time_limit < self.handler.lock:
            return await run_handler(self.handler, job, self._emit)
        extending = asyncio.create_task(self._keep_extending(job))
        try:
            return await run_handler(self.handler, job, self._emit)
        finally:
            extending.cancel()

    async def _keep_extending(self, job: Job) -> None:
        lock = self._lock_seconds
        while True:
            await asyncio.sleep(lock / 3)
            try:
                await self._gateway.extend(job.key, lock, lock / 3)
            except grpc.aio.AioRpcError:
                continue  # tried again in a moment; a lost lock shows when the job is reported

    async def _report(self, job: Job, outcome: Outcome, *, begun: float, until: float) -> None:
        self._answered.add(job.key)
        ended = time.monotonic()
        if (message := incident_of(outcome, job.retries)) is not None:
            await self.handler.on_incident(job, message)
        await self._reporter.report(job, outcome, until=max(until, ended), seconds=ended - begun)

    async def drain(self, seconds: float) -> None:
        """Let running handlers finish within the limit; hand back what is left."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in list(self._tasks):
            task.cancel()
        unanswered = [job for key, job in self._held.items() if key not in self._answered]
        for job in unanswered:
            self._start(job, self._hand_back(job))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=HAND_BACK_SECONDS)

    async def _hand_back(self, job: Job) -> None:
        """Give a job back to the engine at no cost to its retries, so that nobody waits for its lock."""
        reason = HandBack("handed back: the worker is stopping")
        await self._reporter.report(job, reason, until=time.monotonic() + HAND_BACK_SECONDS)

    def _start(self, job: Job, work: Coroutine[Any, Any, None]) -> None:
        self.load.take()
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._end, job))

    def _end(self, job: Job, task: asyncio.Task[None]) -> None:
        self._tasks.remove(task)
        self._held.pop(job.key, None)
        self._answered.discard(job.key)
        self.load.give_back()
        if not task.cancelled():
            task.result()


async def run_handler(handler: JobHandler, job: Job, listener: Listener = nobody) -> Outcome:
    """The handler's answer; what it did not foresee is a technical failure that names no data."""
    limit = handler.time_limit.total_seconds()
    try:
        async with asyncio.timeout(limit):
            return await handler.handle(job)
    except TimeoutError:
        late = Fail(f"{job.type} took longer than its limit of {limit:g} s", TECHNICAL_BACKOFF)
        return handler.late(job) or late
    except Exception as error:
        name, stack = type(error).__name__, traceback.format_tb(error.__traceback__)
        listener(JobCrashed(job.type, job.key, name, tuple(stack)))
        return Fail(f"{job.type} failed: {name}", TECHNICAL_BACKOFF)


class EngineTime:
    """Learns the engine's clock from the freshest job seen lately, to say how much of a lock is left.

    A job's deadline less its lock is when the engine gave it out. The largest difference to our clock
    belongs to the job that waited least; any other waited longer by as much as its difference is smaller.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._freshest = float("-inf")
        self._seen = float("-inf")

    def left(self, deadline: float, lock: float) -> float:
        """Seconds of the lock that are left now."""
        now = self._seconds()
        difference = deadline - lock - now
        if difference >= self._freshest or now - self._seen > FORGET_SECONDS:
            self._freshest, self._seen = difference, now
        return lock - (self._freshest - difference)
