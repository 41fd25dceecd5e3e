"""The gateway as the runtime uses it: pyzeebe's stubs on an async channel that can be renewed."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import grpc
from pyzeebe.proto.gateway_pb2 import (
    ActivatedJob,
    ActivateJobsRequest,
    ActivateJobsResponse,
    StreamActivatedJobsRequest,
    UpdateJobTimeoutRequest,
)
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

JobStream = AsyncGenerator[ActivatedJob, None]


class Gateway:
    """One channel at a time; a refused token is renewed by opening another channel."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        *,
        reopen: Callable[[], grpc.aio.Channel] | None = None,
        renew_at_most_every: float = 10.0,
    ) -> None:
        self._channel = channel
        self._own: grpc.aio.Channel | None = None
        self._reopen = reopen
        self._renew_at_most_every = renew_at_most_every
        self._renewed_at = float("-inf")
        self.stub: Any = GatewayStub(channel)  # the stubs are typed for the blocking channel only

    def activate(self, request: ActivateJobsRequest, seconds: float) -> AsyncIterator[ActivateJobsResponse]:
        """Ask for jobs."""
        call: AsyncIterator[ActivateJobsResponse] = self.stub.ActivateJobs(request, timeout=seconds)
        return call

    async def stream(self, request: StreamActivatedJobsRequest, seconds: float) -> JobStream:
        """Have jobs pushed, until the caller stops listening."""
        call = self.stub.StreamActivatedJobs(request, timeout=seconds)
        try:
            async for job in call:
                yield job
        finally:
            call.cancel()

    async def extend(self, job_key: int, lock: float, seconds: float) -> None:
        """Lock a job anew from now on."""
        request = UpdateJobTimeoutRequest(jobKey=job_key, timeout=round(lock * 1000))
        await self.stub.UpdateJobTimeout(request, timeout=seconds)

    async def renew(self) -> None:
        """Open another channel, and with it ask for another token; not more often than sensible."""
        now = time.monotonic()
        if self._reopen is None or now - self._renewed_at < self._renew_at_most_every:
            return
        self._renewed_at = now
        old, self._own = self._own, self._reopen()
        self.stub = GatewayStub(self._own)
        if old is not None:
            await old.close(grace=self._renew_at_most_every)

    async def close(self) -> None:
        """Close what was opened here; the first channel belongs to the caller."""
        if self._own is not None:
            await self._own.close()
