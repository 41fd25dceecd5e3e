"""The barest worker loop there can be, with every limit a parameter: for questions to the broker only."""

import asyncio
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import grpc
from pyzeebe.proto.gateway_pb2 import ActivatedJob, ActivateJobsRequest, CompleteJobRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

REFUSED_PAUSE_SECONDS = 0.05
LOCK_MS = 60_000
LONG_POLL_MS = 5_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Jobs per poll, jobs held, and completions under way at once."""

    batch: int = 128
    held: int = 256
    in_flight: int = 32


@dataclass(frozen=True, slots=True)
class Drained:
    """How the completions and the polls fared."""

    p50_ms: float
    refused: int


async def drain(channel: grpc.aio.Channel, job_type: str, count: int, limits: Limits) -> Drained:
    """Complete `count` jobs of a type."""
    loop = _Loop(GatewayStub(channel), job_type, count, limits)
    return await loop.run()


class _Loop:
    def __init__(self, stub: Any, job_type: str, count: int, limits: Limits) -> None:
        self._stub = stub
        self._job_type = job_type
        self._left = count
        self._limits = limits
        self._held = 0
        self._in_flight = asyncio.Semaphore(limits.in_flight)
        self._room = asyncio.Event()
        self._times: list[float] = []
        self._refused = 0

    async def run(self) -> Drained:
        """Poll while jobs are left; a whole batch must be free before the next poll."""
        async with asyncio.TaskGroup() as group:
            while self._left > 0:
                await self._wait_for_room()
                await self._poll(group)
        return Drained(median(self._times) * 1e3, self._refused)

    async def _wait_for_room(self) -> None:
        while self._held + self._limits.batch > self._limits.held:
            self._room.clear()
            await self._room.wait()

    async def _poll(self, group: asyncio.TaskGroup) -> None:
        request = ActivateJobsRequest(
            type=self._job_type,
            worker="probe",
            timeout=LOCK_MS,
            maxJobsToActivate=self._limits.batch,
            requestTimeout=LONG_POLL_MS,
        )
        try:
            async for answer in self._stub.ActivateJobs(request):
                for job in answer.jobs:
                    self._held += 1
                    self._left -= 1
                    group.create_task(self._complete(job))
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            self._refused += 1
            await asyncio.sleep(REFUSED_PAUSE_SECONDS)

    async def _complete(self, job: ActivatedJob) -> None:
        async with self._in_flight:
            start = perf_counter()
            await self._stub.CompleteJob(CompleteJobRequest(jobKey=job.key))
            self._times.append(perf_counter() - start)
        self._held -= 1
        self._room.set()
