"""Which repeated report is the worker's fault: not that of one who had stopped waiting for the answer."""

from typing import Any

import grpc
import pytest
from pyzeebe.proto.gateway_pb2 import CompleteJobRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from tests.chaos.arena import plain_channel
from tests.support.faults import FaultyGateway, faulty_gateway

PATIENT, HURRIED = 20.0, 0.4


async def complete(gateway: FaultyGateway, seconds: float) -> None:
    request = CompleteJobRequest(jobKey=1, variables='{"by": "run-1"}')
    async with plain_channel(gateway.address) as channel:
        stub: Any = GatewayStub(channel)
        with pytest.raises(grpc.aio.AioRpcError):  # there is no such job, which is an answer too
            await stub.CompleteJob(request, timeout=seconds)


@pytest.mark.parametrize(("seconds", "repetitions"), [(PATIENT, 1), (HURRIED, 0)])
async def test_only_who_surely_heard_the_answer_says_it_again(seconds: float, repetitions: int) -> None:
    async with faulty_gateway() as gateway:
        await complete(gateway, seconds)
        await complete(gateway, seconds)
        assert len(gateway.ledger.runs.repetitions) == repetitions
