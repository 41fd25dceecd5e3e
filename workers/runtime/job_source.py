"""Brings jobs in: push streams for speed, long polls for the backlog and as a safety net."""

import asyncio
import time
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import grpc
from pyzeebe.proto.gateway_pb2 import ActivatedJob, ActivateJobsRequest, StreamActivatedJobsRequest

from workers.runtime import cancellation
from workers.runtime.events import GatewayAnswered, GatewayFailed, JobTaken, LoopCrashed, StreamsUnknown
from workers.runtime.executor import Executor
from workers.runtime.gateway import Gateway
from workers.runtime.health import Heartbeat
from workers.runtime.job_reading import is_large, read_job
from workers.runtime.options import WorkerOptions
from workers.runtime.timings import Backoff

POLL, STREAM = "poll", "stream"
MOST_CRASHES = 10


class JobSource:
    """The two ways in for one job type; both go on for ever, whatever the gateway or a job does."""

    def __init__(self, gateway: Gateway, executor: Executor, options: WorkerOptions) -> None:
        self._gateway = gateway
        self._executor = executor
        self._handler = executor.handler
        self._load = executor.load
        self._options = options
        self._gate = options.gate
        self._timings = options.timings
        self._emit = options.listener
        self._crashes = 0

    @property
    def job_type(self) -> str:
        """Whose jobs it brings."""
        return self._handler.type

    @property
    def is_broken(self) -> bool:
        """Whether polling, the way in that serves alone if it must, has crashed again and again."""
        return self._crashes >= MOST_CRASHES

    def loops(self, heartbeat: Heartbeat) -> list[asyncio.Task[None]]:
        """Both ways in, running."""
        return [asyncio.create_task(self.poll(heartbeat)), asyncio.create_task(self.stream())]

    async def poll(self, heartbeat: Heartbeat) -> None:
        """Ask for as many jobs as could start, again and again."""
        await self._for_ever(POLL, lambda: self._poll_once(heartbeat))

    async def stream(self) -> None:
        """Have jobs pushed while there is room for them."""
        await self._for_ever(STREAM, self._stream_once)

    async def _for_ever(self, how: str, once: Callable[[], Awaitable[None]]) -> None:
        backoff = self._options.backoff(self._timings.longest_pause)
        while True:
            begun = time.monotonic()
            try:
                await once()
                backoff.start_over()
                self._crashes = 0 if how == POLL else self._crashes
            except (Exception, asyncio.CancelledError) as error:
                if isinstance(error, asyncio.CancelledError) and cancellation.is_ours():
                    raise
                if time.monotonic() - begun > self._timings.longest_pause:
                    backoff.start_over()  # it went well for a while
                await self._recovered(how, error, backoff)

    async def _recovered(self, how: str, error: BaseException, backoff: Backoff) -> None:
        """What goes wrong while a loop recovers ends it as little as what it recovers from."""
        try:
            await self._recover(how, error, backoff)
        except Exception as unforeseen:
            await self._start_over(how, unforeseen, backoff)

    async def _recover(self, how: str, error: BaseException, backoff: Backoff) -> None:
        match error:
            case grpc.aio.AioRpcError():
                await self._reconnect(how, error.code(), backoff)
            case asyncio.CancelledError():  # the call's, not ours: its channel was closed
                await self._reconnect(how, grpc.StatusCode.CANCELLED, backoff)
            case _:
                await self._start_over(how, error, backoff)

    async def _reconnect(self, how: str, status: grpc.StatusCode, backoff: Backoff) -> None:
        if how == STREAM and status is grpc.StatusCode.UNIMPLEMENTED:
            self._emit(StreamsUnknown(self._handler.type))
            await asyncio.sleep(self._timings.stream_life)  # the gateway may be a newer one by then
            return
        if status is grpc.StatusCode.UNAUTHENTICATED:
            await self._gateway.renew()
        pause = self._pause(status, backoff)
        self._emit(GatewayFailed(self._handler.type, how, status.name, pause))
        await asyncio.sleep(pause)

    async def _start_over(self, how: str, error: BaseException, backoff: Backoff) -> None:
        """After what nobody foresaw: it may be one job's fault, and the others go on."""
        self._crashes += how == POLL
        pause, stack = backoff.pause(), tuple(traceback.format_tb(error.__traceback__))
        self._emit(LoopCrashed(self._handler.type, how, type(error).__name__, stack, pause))
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
        most = max(1, self._load.free)
        async with aclosing(self._jobs(self._handler.type, most, self._timings.long_poll)) as jobs:
            async for activated in jobs:
                await self._receive(activated, POLL)

    async def _jobs(self, job_type: str, most: int, long_poll: float) -> AsyncGenerator[ActivatedJob, None]:
        """Jobs of a type, waited for so long at most; a negative time is no wait."""
        request = ActivateJobsRequest(
            type=job_type,
            worker=self._options.name,
            timeout=self._lock_millis,
            maxJobsToActivate=most,
            fetchVariable=self._handler.variables,
            requestTimeout=round(long_poll * 1000),
        )
        patience = max(0.0, long_poll) + self._timings.poll_grace
        async with aclosing(self._gateway.activate(request, patience)) as answers:
            async for answer in answers:
                for activated in answer.jobs:
                    yield activated
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
                await self._receive(activated, STREAM)
                # not reading on tells the gateway, by flow control, to push elsewhere
                await self._load.until_not_full()
                await self._gate.passed()

    async def _receive(self, activated: ActivatedJob, how: str) -> None:
        gave_out = (activated.deadline - self._lock_millis) / 1000
        self._emit(JobTaken(self._handler.type, how, gave_out))
        self._executor.take(read_job(activated))
        if is_large(activated):
            await asyncio.sleep(0)

    @property
    def _lock_millis(self) -> int:
        return round(self._handler.lock.total_seconds() * 1000)
