"""The worker: one executor and one job source per job type, until it is asked to stop."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import grpc

from workers.runtime.events import GatewayFailed, RuntimeEvent
from workers.runtime.executor import Executor
from workers.runtime.gateway import Gateway
from workers.runtime.handler import JobHandler
from workers.runtime.health import Health
from workers.runtime.job_source import JobSource
from workers.runtime.options import WorkerOptions
from workers.runtime.reporting import Reporter


class Worker:
    """Serves a set of handlers on one gateway; whatever the gateway does, it goes on."""

    def __init__(
        self, channel: grpc.aio.Channel, handlers: Sequence[JobHandler], options: WorkerOptions
    ) -> None:
        self.health = Health()
        self._listener = options.listener
        self._options = replace(options, listener=self._on_event)
        every = options.timings.renew_at_most_every
        self._gateway = Gateway(channel, reopen=options.reopen, renew_at_most_every=every)
        self._reporter = Reporter(self._gateway, self._options)
        self._executors = [
            Executor(handler, self._gateway, reporter=self._reporter, listener=self._on_event)
            for handler in handlers
        ]

    async def run(self, stop: asyncio.Event, *, drain: timedelta = timedelta(seconds=20)) -> None:
        """Serve until `stop` is set, then drain; a loop that ends by itself is an error."""
        loops = [task for executor in self._executors for task in self._start(executor)]
        stopping = asyncio.create_task(stop.wait())
        try:
            done, _ = await asyncio.wait([*loops, stopping], return_when=asyncio.FIRST_COMPLETED)
            for ended in done - {stopping}:
                ended.result()
        finally:
            self.health.stopping = True
            for task in (*loops, stopping):
                task.cancel()
            await asyncio.gather(*loops, stopping, return_exceptions=True)
            await asyncio.gather(*(executor.drain(drain.total_seconds()) for executor in self._executors))
            await self._gateway.close()

    def _start(self, executor: Executor) -> list[asyncio.Task[None]]:
        source = JobSource(self._gateway, executor, self._options)
        heartbeat = self.health.loop(f"poll {executor.handler.type}")
        return [asyncio.create_task(source.poll(heartbeat)), asyncio.create_task(source.stream())]

    def _on_event(self, event: RuntimeEvent) -> None:
        if isinstance(event, GatewayFailed) and event.status == "RESOURCE_EXHAUSTED":
            self._reporter.throttle.crowded()
        self.health.note(event)
        self._listener(event)
