"""One job type at work: a job is taken, its lock checked, its handler run, its outcome reported."""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import grpc

from workers.runtime import cancellation
from workers.runtime.events import JobCrashed, JobExpired, Listener, nobody
from workers.runtime.gateway import Gateway
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.load import Load
from workers.runtime.outcome import Fail, HandBack, Incident, Outcome, backoff_of, incident_of
from workers.runtime.reporting import Reporter

HAND_BACK_SECONDS = 5.0
INCIDENT_SECONDS = 10.0
TECHNICAL_BACKOFF = timedelta(seconds=5)
FORGET_SECONDS = 60.0


@dataclass(slots=True)
class _Held:
    """A job that is here, and how far it has come."""

    job: Job
    task: asyncio.Task[None] | None = None
    has_begun: bool = False
    is_answered: bool = False


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
        self._held: dict[int, _Held] = {}

    def holds(self, key: int) -> bool:
        """Whether the job is here."""
        return key in self._held

    def take(self, job: Job) -> None:
        """Hold the job and execute it as soon as a slot is free.

        A job that is delivered again while it is held here is left alone: its first run will settle it.
        """
        if job.key in self._held:
            return
        held = self._held[job.key] = _Held(job)
        self.load.take()
        held.task = asyncio.create_task(self._execute(held, until=self._end_of_lock(job)))
        held.task.add_done_callback(partial(self._end, job))

    async def _execute(self, held: _Held, *, until: float) -> None:
        """The steps of one job; `until` is the end of our lock on it."""
        async with self._slots:
            held.has_begun, begun = True, time.monotonic()
            if begun >= until:
                self._expire(held.job)
                return
            with self.handler.around(held.job):
                outcome = await self._run(held.job)
                held.is_answered = True
                await self._report(held.job, outcome, begun=begun, until=until)

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
        if job.fault:
            return Incident(job.fault)
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
        ended = time.monotonic()
        if (message := incident_of(outcome, job.retries)) is not None:
            await self._foretold(job, self.handler.on_incident(job, message))
        elif (backoff := backoff_of(outcome, job.retries)) is not None:
            await self._foretold(job, self.handler.on_backoff(job, backoff))
        await self._reporter.report(job, outcome, until=max(until, ended), seconds=ended - begun)

    async def _foretold(self, job: Job, told: Awaitable[None]) -> None:
        """Whoever keeps incidents and backoffs must not keep the engine from its report."""
        try:
            async with asyncio.timeout(INCIDENT_SECONDS):
                await told
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and cancellation.is_ours():
                raise
            self._emit(_crash(job, error))

    async def drain(self, usual: timedelta) -> None:
        """Hand back what has not begun, let the rest finish in its time, hand back what is left.

        What was given up is waited for: it may have a connection of somebody's to give back.
        """
        self.handler.stopping()
        returns = self._hand_back([held for held in self._held.values() if not held.has_begun])
        if running := [held.task for held in self._held.values() if held.task]:
            await asyncio.wait(running, timeout=self.handler.drain(usual).total_seconds())
        given_up = [held.task for held in self._held.values() if held.task]
        returns += self._hand_back(list(self._held.values()))
        finishing = asyncio.ensure_future(self.handler.finish())
        await asyncio.wait([*returns, *given_up, finishing], timeout=HAND_BACK_SECONDS)
        finishing.cancel()

    def _hand_back(self, unfinished: Sequence[_Held]) -> list[asyncio.Task[None]]:
        """Give jobs back to the engine at no cost to their retries, so that nobody waits for their locks."""
        for held in unfinished:
            if held.task:
                held.task.cancel()
        return [asyncio.create_task(self._return(held.job)) for held in unfinished if not held.is_answered]

    async def _return(self, job: Job) -> None:
        reason = HandBack("handed back: the worker is stopping")
        await self._reporter.report(job, reason, until=time.monotonic() + HAND_BACK_SECONDS)

    def _end(self, job: Job, task: asyncio.Task[None]) -> None:
        self._held.pop(job.key, None)
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
    except asyncio.CancelledError:
        if cancellation.is_ours():
            raise
        return Fail(f"{job.type} failed: a call of it was cancelled", TECHNICAL_BACKOFF)
    except Exception as error:
        listener(_crash(job, error))
        return Fail(f"{job.type} failed: {type(error).__name__}", TECHNICAL_BACKOFF)


def _crash(job: Job, error: BaseException) -> JobCrashed:
    return JobCrashed(
        job.type, job.key, type(error).__name__, tuple(traceback.format_tb(error.__traceback__))
    )


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
