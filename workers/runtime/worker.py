"""The worker: one executor and one job source per job type, until it is asked to stop."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import grpc

from workers.runtime.events import GatewayFailed, LoopCrashed, RuntimeEvent
from workers.runtime.executor import Executor
from workers.runtime.gateway import Gateway
from workers.runtime.handler import JobHandler
from workers.runtime.health import Health
from workers.runtime.job_source import JobSource
from workers.runtime.lane_source import LaneJobSource
from workers.runtime.lanes import LaneTerms
from workers.runtime.options import WorkerOptions
from workers.runtime.reporting import Reporter


class WorkerBrokenError(Exception):
    """No job type can be served any more: every loop that asks for jobs crashes again and again."""


class Worker:
    """Serves a set of handlers on one gateway; whatever the gateway does, it goes on."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        handlers: Sequence[JobHandler],
        options: WorkerOptions,
        lanes: Mapping[str, LaneTerms] | None = None,
    ) -> None:
        """`lanes` says by type which handlers have their jobs in lanes, and how these are served."""
        self.health = Health()
        self._listener = options.listener
        self._options = replace(options, listener=self._on_event)
        every = options.timings.renew_at_most_every
        self._gateway = Gateway(
            channel, reopen=options.reopen, renew_at_most_every=every, listener=self._on_event
        )
        self._reporter = Reporter(self._gateway, self._options)
        self._executors = [
            Executor(handler, self._gateway, reporter=self._reporter, listener=self._on_event)
            for handler in handlers
        ]
        self._sources = [self._source(executor, lanes or {}) for executor in self._executors]
        self._broken = asyncio.Event()

    async def run(self, stop: asyncio.Event, *, drain: timedelta = timedelta(seconds=20)) -> None:
        """Serve until `stop` is set, then drain; when nothing can be served any more it is an error."""
        loops = [task for source in self._sources for task in self._start(source)]
        ends = [asyncio.create_task(event.wait()) for event in (stop, self._broken)]
        try:
            done, _ = await asyncio.wait([*loops, *ends], return_when=asyncio.FIRST_COMPLETED)
            for ended in done:
                ended.result()
            if self._broken.is_set():
                raise WorkerBrokenError("every loop that asks for jobs crashes: see loop_crashed in the log")
        finally:
            self.health.stopping = True
            for task in (*loops, *ends):
                task.cancel()
            await asyncio.gather(*loops, *ends, return_exceptions=True)
            await asyncio.gather(*(executor.drain(drain) for executor in self._executors))
            await self._gateway.close()

    def longest_drain(self, drain: timedelta) -> timedelta:
        """How long a stop may take: as long as the slowest handler that is never cut short."""
        return max([drain, *(executor.handler.drain(drain) for executor in self._executors)])

    def _source(self, executor: Executor, lanes: Mapping[str, LaneTerms]) -> JobSource:
        if terms := lanes.get(executor.handler.type):
            return LaneJobSource(self._gateway, executor, self._options, terms)
        return JobSource(self._gateway, executor, self._options)

    def _start(self, source: JobSource) -> list[asyncio.Task[None]]:
        return source.loops(self.health.loop(f"poll {source.job_type}"))

    def _on_event(self, event: RuntimeEvent) -> None:
        if isinstance(event, GatewayFailed) and event.status == "RESOURCE_EXHAUSTED":
            self._reporter.throttle.crowded()
        if isinstance(event, LoopCrashed) and all(source.is_broken for source in self._sources):
            self._broken.set()
        self.health.note(event)
        self._tell(event)

    def _tell(self, event: RuntimeEvent) -> None:
        """Whoever listens must not stop the work."""
        try:
            self._listener(event)
        except Exception as error:
            failed = {"message": f"telling of {type(event).__name__} failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(failed)
