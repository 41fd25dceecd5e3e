"""Three embedded brokers on localhost, three partitions and replicas: `python -m tests.support.cluster`."""

import asyncio
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import psutil
from pyzeebe.proto.gateway_pb2 import Partition, TopologyRequest, TopologyResponse
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub
from rich.console import Console

from gateways.zeebe import engine
from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from tests.support.broker import any_ports
from workers.config.settings import read_settings

NODES = PARTITIONS = REPLICAS = 3
MEMORY = "384m"
READY_SECONDS = 180.0
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Node:
    """One broker of the cluster; each has a gateway of its own."""

    number: int
    config: engine.EngineConfig
    running: engine.RunningEngine

    def kill(self) -> None:
        """End it the hard way (-9)."""
        process = psutil.Process(self.running.pid)
        process.kill()
        process.wait(timeout=10)


@dataclass(frozen=True, slots=True)
class BrokerCluster:
    """All nodes, in the order of their numbers."""

    nodes: tuple[Node, ...]

    async def leaders(self, asked: Node) -> dict[int, Node]:
        """Who leads each partition, as one node sees it; a partition without a leader is not there."""
        async with open_channel(Plaintext(asked.running.grpc_address)) as channel:
            stub: Any = GatewayStub(channel)
            try:
                seen = await stub.Topology(TopologyRequest(), timeout=5)
            except grpc.aio.AioRpcError:
                return {}
        return {partition: self.nodes[number] for partition, number in leaders_in(seen).items()}

    async def wait_for_leaders(self) -> dict[int, Node]:
        """Wait until every node knows the same leader of every partition."""
        async with asyncio.timeout(READY_SECONDS):
            while True:
                views = [await self.leaders(node) for node in self.nodes]
                if len(views[0]) == PARTITIONS and all(view == views[0] for view in views):
                    return views[0]
                await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def broker_cluster(folder: Path) -> AsyncIterator[BrokerCluster]:
    """Start the brokers at once, since none is ready without another; stop all of them at the end."""
    configs = node_configs(folder)
    quiet = engine.SilentReporter()
    try:
        starts = (asyncio.to_thread(engine.start, config, quiet) for config in configs)
        running = await asyncio.gather(*starts)
        nodes = (Node(number, *both) for number, both in enumerate(zip(configs, running, strict=True)))
        cluster = BrokerCluster(tuple(nodes))
        await cluster.wait_for_leaders()
        yield cluster
    finally:
        await asyncio.gather(*(asyncio.to_thread(engine.stop, config) for config in configs))


def node_configs(folder: Path) -> list[engine.EngineConfig]:
    """One configuration for each broker; all know all contact points."""
    ports = _distinct_ports()
    contacts = ",".join(f"127.0.0.1:{own.internal}" for own in ports)
    shared = replace(read_settings().engine.config(), memory=MEMORY, ready_seconds=READY_SECONDS)
    return [
        replace(shared, home=folder / f"node-{number}", ports=own, settings=_settings(number, contacts))
        for number, own in enumerate(ports)
    ]


def leaders_in(topology: TopologyResponse) -> dict[int, int]:
    """The node number of each partition's healthy leader."""
    return {
        partition.partitionId: broker.nodeId
        for broker in topology.brokers
        for partition in broker.partitions
        if partition.role == Partition.LEADER and partition.health == Partition.HEALTHY
    }


def _distinct_ports() -> list[engine.FixedPorts]:
    """Ports for all nodes; the system may offer a port twice while nothing listens on it."""
    while True:
        chosen = [any_ports() for _ in range(NODES)]
        every = [
            port for own in chosen for port in (own.grpc, own.rest, own.management, own.command, own.internal)
        ]
        if len(set(every)) == len(every):
            return chosen


def _settings(number: int, contacts: str) -> dict[str, str]:
    return {
        "ZEEBE_BROKER_CLUSTER_NODEID": str(number),
        "ZEEBE_BROKER_CLUSTER_CLUSTERSIZE": str(NODES),
        "ZEEBE_BROKER_CLUSTER_PARTITIONSCOUNT": str(PARTITIONS),
        "ZEEBE_BROKER_CLUSTER_REPLICATIONFACTOR": str(REPLICAS),
        "ZEEBE_BROKER_CLUSTER_INITIALCONTACTPOINTS": contacts,
    }


async def main(console: Console) -> None:
    """Start the cluster, say where it is and who leads, and stay until Ctrl-C."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    console.print(f"Starting {NODES} brokers; this takes about a minute ...")
    with tempfile.TemporaryDirectory(prefix="reenvio-cluster-") as folder:
        async with broker_cluster(Path(folder)) as cluster:
            for partition, node in sorted((await cluster.leaders(cluster.nodes[0])).items()):
                console.print(f"partition {partition}: led by node {node.number}, process {node.running.pid}")
            addresses = " ".join(node.running.grpc_address for node in cluster.nodes)
            console.print(f"Gateways: {addresses}\nSet ZEEBE_ADDRESS to one of them; Ctrl-C stops all.")
            await stop.wait()


if __name__ == "__main__":
    try:
        asyncio.run(main(Console(highlight=False)))
    except engine.EngineError as error:
        sys.exit(str(error))
