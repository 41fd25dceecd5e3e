"""One job type at work: held jobs, running handlers, reports."""

import asyncio
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any

from workers.runtime.engine_time import EngineTime
from workers.runtime.events import JobExpired, Listener
from workers.runtime.execution import extended, run_handler
from workers.runtime.gateway import Gateway
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.load import Load
from workers.runtime.outcome import HandBack
from workers.runtime.reporting import Reporter

HAND_BACK_SECONDS = 5.0


class Executor:
    """Runs at most `at_once` handlers; every job taken is reported once, expired or handed back."""

    def __init__(self, gateway: Gateway, handler: JobHandler, reporter: Reporter, listener: Listener) -> None:
        self.handler = handler
        self.load = Load(handler.at_once)
        self._gateway = gateway
        self._reporter = reporter
        self._tell = listener
        self._slots = asyncio.Semaphore(handler.at_once)
        self._lock_seconds = handler.lock.total_seconds()
        self._engine_time = EngineTime()
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: dict[int, Job] = {}
        self._answered: set[int] = set()

    def take(self, job: Job) -> None:
        """Hold the job and run it as soon as a slot is free.

        A job that is delivered again while it is held here is left alone: its first run will settle it.
        """
        if job.key in self._held:
            return
        lock = self._lock_seconds
        left = lock if job.deadline is None else self._engine_time.left(job.deadline, lock)
        self._held[job.key] = job
        self._begin(job, self._work(job, until=time.monotonic() + left))

    async def drain(self, seconds: float) -> None:
        """Let running handlers finish within the limit; hand back what is left."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in list(self._tasks):
            task.cancel()
        unanswered = [job for key, job in self._held.items() if key not in self._answered]
        for job in unanswered:
            self._begin(job, self._hand_back(job))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=HAND_BACK_SECONDS)

    def _begin(self, job: Job, work: Coroutine[Any, Any, None]) -> None:
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

    async def _work(self, job: Job, *, until: float) -> None:
        async with self._slots:
            begun = time.monotonic()
            if begun >= until:
                self._tell(JobExpired(job.type, job.key))
                return
            async with extended(self._gateway, self.handler, job):
                outcome = await run_handler(self.handler, job, self._tell)
            self._answered.add(job.key)
            ended = time.monotonic()
            await self._reporter.report(job, outcome, until=max(until, ended), seconds=ended - begun)

    async def _hand_back(self, job: Job) -> None:
        """Give a job back to the engine at no cost to its retries, so that nobody waits for its lock."""
        reason = HandBack("handed back: the worker is stopping")
        await self._reporter.report(job, reason, until=time.monotonic() + HAND_BACK_SECONDS)
