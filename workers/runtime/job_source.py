"""Brings jobs in: push streams for speed, long polls for the backlog and as a safety net."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import grpc
from pyzeebe.proto.gateway_pb2 import ActivatedJob, ActivateJobsRequest, StreamActivatedJobsRequest

from workers.runtime.events import GatewayAnswered, GatewayFailed, JobTaken, Listener, StreamsUnknown
from workers.runtime.executor import Executor
from workers.runtime.gate import Gate
from workers.runtime.gateway import Gateway
from workers.runtime.health import Heartbeat
from workers.runtime.job import read_job
from workers.runtime.timings import Backoff, Timings


class JobSource:
    """The two ways in for one job type; both go on for ever, whatever the gateway does."""

    def __init__(
        self,
        gateway: Gateway,
        lane: Executor,
        *,
        name: str,
        gate: Gate,
        tempo: Timings,
        rng: random.Random,
        listener: Listener,
    ) -> None:
        self._gateway = gateway
        self._lane = lane
        self._handler = lane.handler
        self._load = lane.load
        self._name = name
        self._gate = gate
        self._tempo = tempo
        self._rng = rng
        self._tell = listener

    async def poll(self, pulse: Heartbeat) -> None:
        """Ask for as many jobs as could start, again and again."""
        await self._for_ever("poll", lambda: self._poll_once(pulse))

    async def stream(self) -> None:
        """Have jobs pushed while there is room for them."""
        await self._for_ever("stream", self._stream_once)

    async def _for_ever(self, how: str, once: Callable[[], Awaitable[None]]) -> None:
        pace = Backoff(self._rng, self._tempo.first_pause, self._tempo.longest_pause)
        while True:
            begun = time.monotonic()
            try:
                await once()
                pace.start_over()
            except grpc.aio.AioRpcError as error:
                if time.monotonic() - begun > self._tempo.longest_pause:
                    pace.start_over()  # it went well for a while
                await self._recover(how, error.code(), pace)

    async def _recover(self, how: str, status: grpc.StatusCode, pace: Backoff) -> None:
        if how == "stream" and status is grpc.StatusCode.UNIMPLEMENTED:
            self._tell(StreamsUnknown(self._handler.type))
            await asyncio.sleep(self._tempo.stream_life)  # the gateway may be a newer one by then
            return
        if status is grpc.StatusCode.UNAUTHENTICATED:
            await self._gateway.renew()
        crowded = status is grpc.StatusCode.RESOURCE_EXHAUSTED
        pause = min(pace.pause(), self._tempo.longest_crowded_pause) if crowded else pace.pause()
        if status is grpc.StatusCode.PERMISSION_DENIED:
            pause = self._tempo.denied_pause * self._rng.uniform(0.5, 1.0)
        self._tell(GatewayFailed(self._handler.type, how, status.name, pause))
        await asyncio.sleep(pause)

    async def _poll_once(self, pulse: Heartbeat) -> None:
        await self._room(pulse)
        request = ActivateJobsRequest(
            type=self._handler.type,
            worker=self._name,
            timeout=self._lock_millis,
            maxJobsToActivate=max(1, self._load.free),
            fetchVariable=self._handler.variables,
            requestTimeout=round(self._tempo.long_poll * 1000),
        )
        patience = self._tempo.long_poll + self._tempo.poll_grace
        async for response in self._gateway.activate(request, patience):
            for activated in response.jobs:
                self._receive(activated, "poll")
        self._tell(GatewayAnswered())

    async def _room(self, pulse: Heartbeat) -> None:
        """Wait for room worth asking for: one slot, and a moment more for others to join it."""
        await self._gate.passed(pulse.beat)
        pulse.beat()
        while not await self._load.free_within(1, self._tempo.long_poll):
            pulse.beat()  # busy is not stalled
        worth_asking = max(1, round(self._load.at_once * self._tempo.refill_share))
        await self._load.free_within(worth_asking, self._tempo.refill_linger)

    async def _stream_once(self) -> None:
        await self._gate.passed()
        request = StreamActivatedJobsRequest(
            type=self._handler.type,
            worker=self._name,
            timeout=self._lock_millis,
            fetchVariable=self._handler.variables,
        )
        async with aclosing(self._gateway.stream(request, self._tempo.stream_life)) as pushed:
            async for activated in pushed:
                self._receive(activated, "stream")
                # not reading on tells the gateway, by flow control, to push elsewhere
                await self._load.until_not_full()
                await self._gate.passed()

    def _receive(self, activated: ActivatedJob, how: str) -> None:
        self._tell(JobTaken(self._handler.type, how))
        self._lane.take(read_job(activated))

    @property
    def _lock_millis(self) -> int:
        return round(self._handler.lock.total_seconds() * 1000)
