"""Brings jobs in: push streams for speed, long polls for the backlog and as a safety net."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import grpc
from pyzeebe.proto.gateway_pb2 import ActivatedJob, ActivateJobsRequest, StreamActivatedJobsRequest

from workers.runtime.events import GatewayAnswered, GatewayFailed, JobTaken, StreamsUnknown
from workers.runtime.executor import Executor
from workers.runtime.gateway import Gateway
from workers.runtime.health import Heartbeat
from workers.runtime.job import read_job
from workers.runtime.options import WorkerOptions
from workers.runtime.timings import Backoff


class JobSource:
    """The two ways in for one job type; both go on for ever, whatever the gateway does."""

    def __init__(self, gateway: Gateway, executor: Executor, options: WorkerOptions) -> None:
        self._gateway = gateway
        self._executor = executor
        self._handler = executor.handler
        self._load = executor.load
        self._options = options
        self._gate = options.gate
        self._timings = options.timings
        self._emit = options.listener

    async def poll(self, heartbeat: Heartbeat) -> None:
        """Ask for as many jobs as could start, again and again."""
        await self._for_ever("poll", lambda: self._poll_once(heartbeat))

    async def stream(self) -> None:
        """Have jobs pushed while there is room for them."""
        await self._for_ever("stream", self._stream_once)

    async def _for_ever(self, how: str, once: Callable[[], Awaitable[None]]) -> None:
        backoff = self._options.backoff(self._timings.longest_pause)
        while True:
            begun = time.monotonic()
            try:
                await once()
                backoff.start_over()
            except grpc.aio.AioRpcError as error:
                if time.monotonic() - begun > self._timings.longest_pause:
                    backoff.start_over()  # it went well for a while
                await self._recover(how, error.code(), backoff)

    async def _recover(self, how: str, status: grpc.StatusCode, backoff: Backoff) -> None:
        if how == "stream" and status is grpc.StatusCode.UNIMPLEMENTED:
            self._emit(StreamsUnknown(self._handler.type))
            await asyncio.sleep(self._timings.stream_life)  # the gateway may be a newer one by then
            return
        if status is grpc.StatusCode.UNAUTHENTICATED:
            await self._gateway.renew()
        pause = self._pause(status, backoff)
        self._emit(GatewayFailed(self._handler.type, how, status.name, pause))
        await asyncio.sleep(pause)

    def _pause(self, status: grpc.StatusCode, backoff: Backoff) -> float:
        pause = backoff.pause()
        if status is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return min(pause, self._timings.longest_crowded_pause)
        if status is grpc.StatusCode.PERMISSION_DENIED:
            return self._timings.denied_pause * self._options.rng.uniform(0.5, 1.0)
        return pause

    async def _poll_once(self, heartbeat: Heartbeat) -> None:
        await self._room(heartbeat)
        request = ActivateJobsRequest(
            type=self._handler.type,
            worker=self._options.name,
            timeout=self._lock_millis,
            maxJobsToActivate=max(1, self._load.free),
            fetchVariable=self._handler.variables,
            requestTimeout=round(self._timings.long_poll * 1000),
        )
        patience = self._timings.long_poll + self._timings.poll_grace
        async for response in self._gateway.activate(request, patience):
            for activated in response.jobs:
                self._receive(activated, "poll")
        self._emit(GatewayAnswered())

    async def _room(self, heartbeat: Heartbeat) -> None:
        """Wait for room worth asking for: one slot, and a moment more for others to join it."""
        await self._gate.passed(heartbeat.beat)
        heartbeat.beat()
        while not await self._load.free_within(1, self._timings.long_poll):
            heartbeat.beat()  # busy is not stalled
        worth_asking = max(1, round(self._load.at_once * self._timings.refill_share))
        await self._load.free_within(worth_asking, self._timings.refill_linger)

    async def _stream_once(self) -> None:
        await self._gate.passed()
        request = StreamActivatedJobsRequest(
            type=self._handler.type,
            worker=self._options.name,
            timeout=self._lock_millis,
            fetchVariable=self._handler.variables,
        )
        async with aclosing(self._gateway.stream(request, self._timings.stream_life)) as pushed:
            async for activated in pushed:
                self._receive(activated, "stream")
                # not reading on tells the gateway, by flow control, to push elsewhere
                await self._load.until_not_full()
                await self._gate.passed()

    def _receive(self, activated: ActivatedJob, how: str) -> None:
        self._emit(JobTaken(self._handler.type, how))
        self._executor.take(read_job(activated))

    @property
    def _lock_millis(self) -> int:
        return round(self._handler.lock.total_seconds() * 1000)
