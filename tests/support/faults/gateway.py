"""The faulty gateway on a port of its own: it can be killed and come back, its jobs stay."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import grpc
from pyzeebe.proto.gateway_pb2_grpc import add_GatewayServicer_to_server

from tests.support.faults.ledger import Ledger
from tests.support.faults.service import JobService
from tests.support.faults.store import JobStore
from tests.support.faults.switches import Faults

HOST = "127.0.0.1"
TICK_SECONDS = 0.02
_OPTIONS = (
    ("grpc.so_reuseport", 0),
    # workers in tests ping far more often than a server puts up with by default
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 10),
)


class FaultyGateway:
    """A gRPC server for jobs; the store, the ledger and the switchboard outlive its restarts."""

    def __init__(self, rng: random.Random) -> None:
        # calls beyond jobs stay unimplemented, as the base answers them
        self._service = JobService(rng, time.monotonic)  # type: ignore[abstract]
        self._server: grpc.aio.Server | None = None
        self.port = 0

    @property
    def store(self) -> JobStore:
        """The jobs."""
        return self._service.store

    @property
    def ledger(self) -> Ledger:
        """What happened to them."""
        return self._service.ledger

    @property
    def faults(self) -> Faults:
        """The switchboard."""
        return self._service.faults

    @property
    def address(self) -> str:
        """Where workers find it."""
        return f"{HOST}:{self.port}"

    def open_streams(self, type_: str) -> int:
        """How many streams of a job type are open."""
        return self._service.streams.count(type_)

    def break_streams(self, status: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE) -> None:
        """End all open streams with an error."""
        self._service.streams.break_all(status)
        self.faults.note(f"streams broken {status.name}")

    async def start(self) -> None:
        """Listen: the first time on any free port, then always on the same."""
        server = grpc.aio.server(options=_OPTIONS)
        add_GatewayServicer_to_server(self._service, server)
        self.port = server.add_insecure_port(self.address)
        await server.start()
        self._server = server

    async def kill(self) -> None:
        """Drop every connection and call; nobody listens any more."""
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    async def restart(self) -> None:
        """Die and come back on the same port."""
        self.faults.note("gateway restarted")
        await self.kill()
        await self.start()

    async def keep_time(self) -> None:
        """Let locks and waits end, for ever."""
        while True:
            self.store.tick()
            await asyncio.sleep(TICK_SECONDS)


@asynccontextmanager
async def faulty_gateway(seed: int = 0) -> AsyncIterator[FaultyGateway]:
    """A gateway that listens and keeps time; all its faults are off, its draws follow the seed."""
    gateway = FaultyGateway(random.Random(seed))
    await gateway.start()
    time_keeper = asyncio.create_task(gateway.keep_time())
    try:
        yield gateway
    finally:
        time_keeper.cancel()
        with suppress(asyncio.CancelledError):
            await time_keeper
        await gateway.kill()
