"""The real broker: on localhost only, ready when it says so, and in its own time after a restart."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv6Address, ip_address
from typing import Any

import psutil
import pytest
from pyzeebe.proto import gateway_pb2 as pb
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from gateways.engine_clock import EngineClock
from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from gateways.zeebe.engine import EngineConfig, SilentReporter, log_tail, start, status, stop
from workers.config.settings import read_settings

NEARLY = timedelta(seconds=5)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineConfig]:
    """A broker with a home of its own; the distribution comes from the shared cache."""
    config = replace(read_settings().engine.config(), home=tmp_path_factory.mktemp("a home with spaces"))
    start(config, SilentReporter())
    yield config
    stop(config)


async def topology(address: str) -> pb.TopologyResponse:
    async with open_channel(Plaintext(address)) as channel:
        stub: Any = GatewayStub(channel)
        answer: pb.TopologyResponse = await stub.Topology(pb.TopologyRequest(), timeout=10)
        return answer


def is_loopback(address: str) -> bool:
    ip = ip_address(address)
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return (mapped or ip).is_loopback


async def test_a_started_engine_has_a_healthy_leader_at_once(config: EngineConfig) -> None:
    engine = start(config, SilentReporter())
    broker = (await topology(engine.grpc_address)).brokers[0]
    assert broker.version == config.version
    assert broker.partitions[0].role == pb.Partition.LEADER
    assert broker.partitions[0].health == pb.Partition.HEALTHY


def test_nothing_listens_beyond_localhost(config: EngineConfig) -> None:
    engine = status(config)
    assert engine is not None
    sockets = psutil.Process(engine.pid).net_connections("tcp")
    listening = [s.laddr.ip for s in sockets if s.status == psutil.CONN_LISTEN]
    assert len(listening) == 5
    assert all(map(is_loopback, listening))


def test_the_log_is_in_the_home_folder(config: EngineConfig) -> None:
    assert any("Broker is ready" in line for line in log_tail(config, 500))


async def test_a_restarted_engine_does_not_travel_back_in_time(config: EngineConfig) -> None:
    before = start(config, SilentReporter())
    moved = await EngineClock(before.management_url).advance(timedelta(hours=4))
    assert stop(config) is True
    assert status(config) is None
    after = start(config, SilentReporter())
    now = await EngineClock(after.management_url).now()
    assert after.pid != before.pid
    assert now > moved
    assert abs(now - datetime.now(UTC) - timedelta(hours=4)) < NEARLY
    assert (await topology(after.grpc_address)).brokers[0].partitions[0].role == pb.Partition.LEADER
