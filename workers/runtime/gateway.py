"""The gateway as the runtime uses it: pyzeebe's stubs on an async channel that can be renewed."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
from google.protobuf.message import Message
from pyzeebe.proto.gateway_pb2 import (
    ActivatedJob,
    ActivateJobsRequest,
    ActivateJobsResponse,
    StreamActivatedJobsRequest,
    UpdateJobTimeoutRequest,
)
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from workers.runtime.events import Listener, RenewalFailed, nobody

JobStream = AsyncGenerator[ActivatedJob, None]
JobAnswers = AsyncGenerator[ActivateJobsResponse, None]


class _Line:
    """A channel and how many calls are under way on it."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.stub: Any = GatewayStub(channel)  # the stubs are typed for the blocking channel only
        self.calls = 0


class Gateway:
    """New calls go over the newest channel; a refused token is renewed by opening another one.

    A channel that was replaced is closed when the last call on it has ended: closing it earlier would
    cancel streams that still bring jobs.
    """

    def __init__(
        self,
        channel: grpc.aio.Channel,
        *,
        reopen: Callable[[], grpc.aio.Channel] | None = None,
        renew_at_most_every: float = 10.0,
        listener: Listener = nobody,
    ) -> None:
        self._first = self._line = _Line(channel)
        self._reopen = reopen
        self._renew_at_most_every = renew_at_most_every
        self._renewed_at = float("-inf")
        self._emit = listener

    async def activate(self, request: ActivateJobsRequest, seconds: float) -> JobAnswers:
        """Ask for jobs."""
        async with self._calling() as stub:
            async for answer in stub.ActivateJobs(request, timeout=seconds):
                yield answer

    async def stream(self, request: StreamActivatedJobsRequest, seconds: float) -> JobStream:
        """Have jobs pushed, until the caller stops listening."""
        async with self._calling() as stub:
            call = stub.StreamActivatedJobs(request, timeout=seconds)
            try:
                async for job in call:
                    yield job
            finally:
                call.cancel()

    async def extend(self, job_key: int, lock: float, seconds: float) -> None:
        """Lock a job anew from now on."""
        request = UpdateJobTimeoutRequest(jobKey=job_key, timeout=round(lock * 1000))
        await self.call("UpdateJobTimeout", request, seconds)

    async def call(self, method: str, request: Message, seconds: float) -> None:
        """Make a call whose answer says nothing more than that it was done."""
        async with self._calling() as stub:
            await getattr(stub, method)(request, timeout=seconds)

    async def renew(self) -> None:
        """Open another channel, and with it ask for another token; not more often than sensible.

        While none can be opened, as when a certificate's file is being replaced, the old one serves on.
        """
        now = time.monotonic()
        if self._reopen is None or now - self._renewed_at < self._renew_at_most_every:
            return
        self._renewed_at = now
        try:
            old, self._line = self._line, _Line(self._reopen())
            await self._retire(old)
        except Exception as error:  # whatever it is, those who call have work of their own
            self._emit(RenewalFailed(type(error).__name__))

    async def close(self) -> None:
        """Close what was opened here; the first channel belongs to the caller."""
        if self._line is not self._first:
            await self._line.channel.close()

    @asynccontextmanager
    async def _calling(self) -> AsyncIterator[Any]:
        line = self._line
        line.calls += 1
        try:
            yield line.stub
        finally:
            line.calls -= 1
            await self._retire(line)

    async def _retire(self, line: _Line) -> None:
        if line.calls == 0 and line not in (self._line, self._first):
            await line.channel.close()
