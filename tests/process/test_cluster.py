"""Three brokers, three partitions, three replicas: the worker goes on when a leader is killed."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from pyzeebe.proto.gateway_pb2 import CreateProcessInstanceRequest, SetVariablesRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from tests.process.stage import eventually
from tests.support.cluster import PARTITIONS, BrokerCluster, Node, broker_cluster
from tests.support.models import one_task
from workers.runtime import Complete, Job, JobHandler, Outcome
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker

JOB_TYPE = "cluster-job"
JOBS = 240
KILL_AFTER = 48
LOCK = timedelta(seconds=10)
PARTITION_BITS = 51  # a key's upper bits are the number of the partition that made it
PASSING = {
    grpc.StatusCode.ABORTED,  # the broker died with the command in its hands
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    """A cluster of this test's own, gone at the end."""
    async with broker_cluster(tmp_path) as started:
        yield started


async def test_no_job_is_lost_when_a_leader_is_killed_in_the_middle_of_a_run(
    cluster: BrokerCluster, tmp_path: Path
) -> None:
    victim, survivor = _victim_and_survivor(await cluster.wait_for_leaders(), cluster)
    async with open_channel(Plaintext(survivor.running.grpc_address)) as channel:
        engine = Engine(channel)
        await ZeebeCommands(channel).deploy(one_task(tmp_path, JOB_TYPE, JOB_TYPE, {}))
        instances = [await engine.create() for _ in range(JOBS)]
        assert len({instance >> PARTITION_BITS for instance in instances}) == PARTITIONS

        handled = Handled()
        async with _working(channel, handled):
            await handled.at_least(KILL_AFTER)
            victim.kill()
            assert len(handled.times) < JOBS
            await eventually(lambda: engine.all_ended(instances), "all instances to end")

    assert set(handled.times) == set(instances)
    await eventually(lambda: _led_without(victim, cluster, survivor), "new leaders for all partitions")


class Handled:
    """A handler that remembers which instances it worked for."""

    def __init__(self) -> None:
        self.times: Counter[int] = Counter()
        self._more = asyncio.Condition()

    async def handle(self, job: Job) -> Outcome:
        """Count the job, and complete it."""
        async with self._more:
            self.times[job.process_instance_key] += 1
            self._more.notify_all()
        return Complete()

    async def at_least(self, count: int) -> None:
        """Wait until so many instances have had their job done."""
        async with self._more, asyncio.timeout(60):
            await self._more.wait_for(lambda: len(self.times) >= count)


class Engine:
    """What the test asks of the cluster; what passes is asked again."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub: Any = GatewayStub(channel)
        self._ended: set[int] = set()

    async def create(self) -> int:
        """Start an instance, on the next partition in turn; a partition may not know the model yet."""
        request = CreateProcessInstanceRequest(bpmnProcessId=JOB_TYPE, version=-1)

        async def look() -> int | None:
            try:
                answer = await self._stub.CreateProcessInstance(request, timeout=10)
            except grpc.aio.AioRpcError as error:
                if error.code() not in {*PASSING, grpc.StatusCode.NOT_FOUND}:
                    raise
                return None
            return int(answer.processInstanceKey)

        return await eventually(look, "an instance")

    async def all_ended(self, instances: Iterable[int]) -> bool | None:
        """True when no instance is left, else None; those known to have ended are not asked again."""
        for instance in instances:
            if instance not in self._ended and not await self._has_ended(instance):
                return None
            self._ended.add(instance)
        return True

    async def _has_ended(self, instance: int) -> bool:
        """The engine refuses variables for an instance that is no more."""
        nothing = SetVariablesRequest(elementInstanceKey=instance, variables="{}")
        try:
            await self._stub.SetVariables(nothing, timeout=10)
        except grpc.aio.AioRpcError as error:
            if error.code() not in {*PASSING, grpc.StatusCode.NOT_FOUND}:
                raise
            return error.code() is grpc.StatusCode.NOT_FOUND
        return False


def _victim_and_survivor(leaders: dict[int, Node], cluster: BrokerCluster) -> tuple[Node, Node]:
    victim = leaders[1]
    return victim, next(node for node in cluster.nodes if node != victim)


async def _led_without(victim: Node, cluster: BrokerCluster, asked: Node) -> bool | None:
    leaders = await cluster.leaders(asked)
    return (len(leaders) == PARTITIONS and victim not in leaders.values()) or None


@asynccontextmanager
async def _working(channel: grpc.aio.Channel, handled: Handled) -> AsyncIterator[None]:
    handler = JobHandler(type=JOB_TYPE, variables=(), handle=handled.handle, lock=LOCK, time_limit=LOCK / 2)
    stop = asyncio.Event()
    worker = Worker(channel, [handler], WorkerOptions("cluster-test", random.Random()))
    task = asyncio.create_task(worker.run(stop))
    try:
        yield
    finally:
        stop.set()
        await task
