"""The work: one-task process instances, made as a backlog or at a steady pace."""

import asyncio
import itertools
import json
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import grpc
from pyzeebe.proto.gateway_pb2 import (
    CreateProcessInstanceRequest,
    CreateProcessInstanceWithResultRequest,
    DeployResourceRequest,
    Resource,
)
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from tests.support.models import one_task

CREATORS = 32
RESULT_SECONDS = 60
REFUSED_PAUSE_SECONDS = 0.02


class Load:
    """Makes instances whose one job is of a given type; each carries a claim of its own, numbered on."""

    def __init__(self, channel: grpc.aio.Channel, first: int = 1) -> None:
        self._stub: Any = GatewayStub(channel)  # the stubs are typed for the blocking channel only
        self._numbers = itertools.count(first)

    async def deploy(self, job_type: str) -> None:
        """Deploy a process of the job type's name with one task of that type."""
        with tempfile.TemporaryDirectory() as folder:
            model = one_task(Path(folder), job_type, job_type, {}).read_bytes()
        resource = Resource(name=f"{job_type}.bpmn", content=model)
        await self._stub.DeployResource(DeployResourceRequest(resources=[resource]))

    async def backlog(self, job_type: str, count: int) -> None:
        """Make `count` instances as fast as the broker takes them; their jobs exist when this returns."""
        left = iter(range(count))

        async def create() -> None:
            for _ in left:
                await self._create(job_type)

        await asyncio.gather(*(create() for _ in range(CREATORS)))

    async def paced(self, job_type: str, *, rate: float, count: int) -> list[float | None]:
        """Make instances at a fixed rate; the seconds to each result, None where none came."""
        start, calls = perf_counter(), []
        for number in range(count):
            await asyncio.sleep(max(0.0, start + number / rate - perf_counter()))
            calls.append(asyncio.create_task(self._timed(job_type)))
        return list(await asyncio.gather(*calls))

    async def _create(self, job_type: str) -> None:
        await until_taken(lambda: self._stub.CreateProcessInstance(self._request(job_type)))

    async def _timed(self, job_type: str) -> float | None:
        request = CreateProcessInstanceWithResultRequest(
            request=self._request(job_type), requestTimeout=RESULT_SECONDS * 1000, fetchVariables=["claimId"]
        )
        call = self._stub.CreateProcessInstanceWithResult
        start = perf_counter()
        try:
            await until_taken(lambda: call(request, timeout=RESULT_SECONDS))
        except grpc.aio.AioRpcError:
            return None
        return perf_counter() - start

    def _request(self, process: str) -> CreateProcessInstanceRequest:
        variables = json.dumps(failed_claim(next(self._numbers)))
        return CreateProcessInstanceRequest(bpmnProcessId=process, version=-1, variables=variables)


def failed_claim(number: int) -> dict[str, object]:
    """The variables of an instance: a claim whose send has failed."""
    return {
        "claimId": f"CLM-BENCH-{number}",
        "submissionError": "TIMEOUT - Connection timeout after 30s",
        "retryCount": 1,
    }


async def until_taken(call: Callable[[], Awaitable[object]]) -> None:
    """Ask again while the broker refuses new work; the time it takes counts."""
    while True:
        try:
            await call()
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            await asyncio.sleep(REFUSED_PAUSE_SECONDS)
        else:
            return
