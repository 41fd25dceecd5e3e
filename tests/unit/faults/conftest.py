"""A gateway without faults until a test switches some on, and a stub to call it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from tests.support.faults import FaultyGateway, faulty_gateway


@pytest.fixture
async def gateway() -> AsyncIterator[FaultyGateway]:
    async with faulty_gateway() as gateway:
        yield gateway


@pytest.fixture
async def stub(gateway: FaultyGateway) -> AsyncIterator[Any]:
    async with open_channel(Plaintext(gateway.address)) as channel:
        yield GatewayStub(channel)
