"""On a real broker: the worker killed (-9) five times, the broker twice; nothing lost, every effect once."""

import asyncio
import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from pyzeebe import ZeebeClient
from pyzeebe.proto.gateway_pb2 import SetVariablesRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from gateways.zeebe import engine
from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from tests.chaos.arena import until
from tests.chaos.effects import Effects
from tests.chaos.worker_process import TYPE
from tests.support.broker import QUICK, READY_SECONDS
from tests.support.models import one_task
from workers.config.settings import read_settings

INSTANCES = 600
PROCESS = "CHAOS"
KILLS = ("worker", "worker", "broker", "worker", "worker", "broker", "worker")
CREATORS = 8


class Broker:
    """A broker of this test's own, killed and started again on its data and its ports."""

    def __init__(self, home: Path) -> None:
        self._config = engine.EngineConfig(
            home=home,
            cache=read_settings().engine.config().cache,
            settings=QUICK,
            ready_seconds=READY_SECONDS,
        )
        self._running = engine.start(self._config, engine.SilentReporter())
        urls = (self._running.grpc_address, self._running.rest_url, self._running.management_url)
        ports = engine.FixedPorts(*(int(url.rsplit(":", 1)[1]) for url in urls))
        self._config = dataclasses.replace(self._config, ports=ports)

    @property
    def address(self) -> str:
        """Its gateway."""
        return self._running.grpc_address

    def kill(self) -> None:
        """Kill it (-9) and start it again."""
        process = psutil.Process(self._running.pid)
        process.kill()
        process.wait(timeout=10)
        self._running = engine.start(self._config, engine.SilentReporter())

    def stop(self) -> None:
        """End it."""
        engine.stop(self._config)


class WorkerProcess:
    """The worker's process."""

    def __init__(self, address: str, effects: Path) -> None:
        self._command = [sys.executable, "-m", "tests.chaos.worker_process", address, str(effects)]
        self._log = effects.with_suffix(".log")
        self._child = self._start()

    def kill(self) -> None:
        """Kill it (-9) and start another."""
        self.end()
        self._child = self._start()

    def end(self) -> None:
        """Kill it for good; it must not have ended by itself."""
        assert self._child.poll() is None, self._log.read_text(encoding="utf-8")
        self._child.kill()
        self._child.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(self._command, stdout=log, stderr=log)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path / "engine")
    yield broker
    broker.stop()


async def test_killed_workers_and_killed_brokers_lose_nothing_and_double_nothing(
    broker: Broker, tmp_path: Path
) -> None:
    file = tmp_path / "effects.db"
    effects = Effects(file)
    async with open_channel(Plaintext(broker.address)) as channel:
        instances = await create_instances(channel, one_task(tmp_path, PROCESS, TYPE, {}))
        worker = WorkerProcess(broker.address, file)
        for step, victim in enumerate(KILLS, start=1):
            await has_effects(effects, INSTANCES * step // (len(KILLS) + 1))
            await asyncio.to_thread(worker.kill if victim == "worker" else broker.kill)
        await has_effects(effects, INSTANCES)
        await are_gone(channel, instances)
        worker.end()
    assert (effects.keys, effects.doubled) == (INSTANCES, 0)
    assert effects.repeated_runs > 0
    effects.close()


async def create_instances(channel: grpc.aio.Channel, model: Path) -> list[int]:
    """Deploy the model and start its instances, a few at a time; their keys."""
    client = ZeebeClient(channel, max_connection_retries=-1)
    await client.deploy_resource(model)

    async def create(first: int) -> list[int]:
        numbers = range(first, INSTANCES, CREATORS)
        started = [await client.run_process(PROCESS, {"claimId": f"CLM-{number}"}) for number in numbers]
        return [instance.process_instance_key for instance in started]

    created = await asyncio.gather(*(create(first) for first in range(CREATORS)))
    return [key for keys in created for key in keys]


async def has_effects(effects: Effects, count: int) -> None:
    """Wait until so many claims have had their effect."""
    await until(lambda: effects.keys >= count, seconds=180)
    assert effects.keys >= count, f"only {effects.keys} of {count} effects"


async def are_gone(channel: grpc.aio.Channel, instances: list[int]) -> None:
    """Wait until the engine knows none of the instances any more: each has come to its end."""
    stub: Any = GatewayStub(channel)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 60
    while instances and loop.time() < deadline:
        instances = [key for key in instances if await _is_active(stub, key)]
    assert instances == []


async def _is_active(stub: Any, instance: int) -> bool:
    try:
        await stub.SetVariables(SetVariablesRequest(elementInstanceKey=instance, variables="{}"), timeout=10)
    except grpc.aio.AioRpcError as error:
        return error.code() is not grpc.StatusCode.NOT_FOUND
    return True
