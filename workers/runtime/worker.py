"""The worker: one lane and one intake per job type, until it is told to stop."""

import asyncio
import random
from collections.abc import Callable, Sequence
from datetime import timedelta

import grpc

from workers.runtime.events import GatewayFailed, Listener, RuntimeEvent, nobody
from workers.runtime.executor import Executor
from workers.runtime.gate import Gate
from workers.runtime.gateway import Gateway
from workers.runtime.handler import JobHandler
from workers.runtime.health import Health
from workers.runtime.job_source import JobSource
from workers.runtime.reporting import Reporter
from workers.runtime.timings import Timings


class Worker:
    """Serves a set of handlers on one gateway; whatever the gateway does, it goes on."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        handlers: Sequence[JobHandler],
        *,
        name: str,
        rng: random.Random,
        reopen: Callable[[], grpc.aio.Channel] | None = None,
        gate: Gate | None = None,
        listener: Listener = nobody,
        tempo: Timings | None = None,
    ) -> None:
        """`reopen` opens another channel when a token was refused; `listener` hears what happens.

        While `gate` is shut no job is taken.
        """
        self._gate = gate or Gate()
        self.vitals = Health()
        self._tempo = tempo or Timings()
        self._name = name
        self._rng = rng
        self._listener = listener
        every = self._tempo.renew_at_most_every
        self._gateway = Gateway(channel, reopen=reopen, renew_at_most_every=every)
        self._reporter = Reporter(self._gateway, tempo=self._tempo, rng=rng, listener=self._tell)
        self._lanes = [Executor(self._gateway, handler, self._reporter, self._tell) for handler in handlers]

    async def run(self, stop: asyncio.Event, *, drain: timedelta = timedelta(seconds=20)) -> None:
        """Serve until `stop` is set, then drain; a loop that ends by itself is an error."""
        loops = [task for lane in self._lanes for task in self._start(lane)]
        stopping = asyncio.create_task(stop.wait())
        try:
            done, _ = await asyncio.wait([*loops, stopping], return_when=asyncio.FIRST_COMPLETED)
            for ended in done - {stopping}:
                ended.result()
        finally:
            self.vitals.stopping = True
            for task in (*loops, stopping):
                task.cancel()
            await asyncio.gather(*loops, stopping, return_exceptions=True)
            await asyncio.gather(*(lane.drain(drain.total_seconds()) for lane in self._lanes))
            await self._gateway.close()

    def _start(self, lane: Executor) -> list[asyncio.Task[None]]:
        intake = JobSource(
            self._gateway,
            lane,
            name=self._name,
            gate=self._gate,
            tempo=self._tempo,
            rng=self._rng,
            listener=self._tell,
        )
        pulse = self.vitals.loop(f"poll {lane.handler.type}")
        return [asyncio.create_task(intake.poll(pulse)), asyncio.create_task(intake.stream())]

    def _tell(self, happening: RuntimeEvent) -> None:
        if isinstance(happening, GatewayFailed) and happening.status == "RESOURCE_EXHAUSTED":
            self._reporter.throttle.crowded()
        self.vitals.hear(happening)
        self._listener(happening)
