"""One job type at work: held jobs, running handlers, reports."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

from workers.runtime.execution import extended, run_handler
from workers.runtime.gateway import Gateway
from workers.runtime.handler import JobHandler
from workers.runtime.happenings import JobExpired, Listener
from workers.runtime.job import Job
from workers.runtime.load import Load
from workers.runtime.outcome import HandBack
from workers.runtime.reporting import Reporter

HAND_BACK_SECONDS = 5.0


class Lane:
    """Runs at most `at_once` handlers; every job taken is reported once, expired or handed back."""

    def __init__(self, gateway: Gateway, handler: JobHandler, reporter: Reporter, listener: Listener) -> None:
        self.handler = handler
        self.load = Load(handler.at_once)
        self._gateway = gateway
        self._reporter = reporter
        self._tell = listener
        self._slots = asyncio.Semaphore(handler.at_once)
        self._lock_seconds = handler.lock.total_seconds()
        self._tasks: dict[asyncio.Task[None], Job] = {}

    def take(self, job: Job) -> None:
        """Hold the job and run it as soon as a slot is free."""
        self._begin(job, self._work(job, until=time.monotonic() + self._lock_seconds))

    def hand_back(self, job: Job, reason: str) -> None:
        """Give a job that was not begun back to the engine, at no cost to its retries."""
        self._begin(job, self._return(job, reason))

    async def drain(self, seconds: float) -> None:
        """Let running handlers finish within the limit; hand back what is left."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        left = list(self._tasks.items())
        for task, job in left:
            task.cancel()
            self.hand_back(job, "handed back: the worker is stopping")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=HAND_BACK_SECONDS)

    def _begin(self, job: Job, work: Coroutine[Any, Any, None]) -> None:
        self.load.take()
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = job
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
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
            seconds = time.monotonic() - begun
            await self._reporter.report(job, outcome, until=max(until, begun + seconds), seconds=seconds)

    async def _return(self, job: Job, reason: str) -> None:
        await self._reporter.report(job, HandBack(reason), until=time.monotonic() + HAND_BACK_SECONDS)
