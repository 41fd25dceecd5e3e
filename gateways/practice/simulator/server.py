"""The simulator: a real HTTP(S) server with one address per payer."""

import asyncio
import contextlib
import json
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from domain.ports import Clock
from gateways.engine_clock import EngineClockError
from gateways.practice.simulator.answer import Answer
from gateways.practice.simulator.ledger import Ledger, as_line
from gateways.practice.simulator.payer import SimulatedPayer, SimulatorParts
from gateways.practice.simulator.scenario import Scenario
from gateways.practice.simulator.wire import HttpRequest, close, deliver, read_http
from gateways.tiss.validation import Schemas

_SCHEDULE_SECONDS = 0.1
_WITHOUT_TIME = Answer(500, b"")
_FORBIDDEN = Answer(403, b"")
_NOT_FOUND = Answer(404, b"")


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the simulator listens; port 0 chooses a free one."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None

    @property
    def asks_for_certificates(self) -> bool:
        """Whether clients must show a certificate; without one they get HTTP 403, as from payers."""
        return self.tls is not None and self.tls.verify_mode is not ssl.CERT_NONE


class Simulator:
    """Payers at `url`/registroANS; the ledger at `url`/_ledger."""

    def __init__(self, scenario: Scenario, parts: SimulatorParts, clock: Clock, listening: Listening) -> None:
        self._scenario = scenario
        self._parts = parts
        self._clock = clock
        self._listening = listening
        self._payers = {payer.registro_ans: SimulatedPayer(payer, parts) for payer in scenario.payers}
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._idle: set[asyncio.Task[HttpRequest | None]] = set()
        self.port = listening.port

    @property
    def ledger(self) -> Ledger:
        """What reached the payers and what they took."""
        return self._parts.ledger

    @property
    def url(self) -> str:
        """The address without a payer."""
        scheme = "https" if self._listening.tls else "http"
        return f"{scheme}://{self._listening.host}:{self.port}"

    async def listen(self) -> None:
        """Take connections; after a pause on the same port as before."""
        if self._server is None:
            self._server = await asyncio.start_server(
                self._accept, self._listening.host, self.port, ssl=self._listening.tls
            )
            self.port = self._server.sockets[0].getsockname()[1]

    async def stop_listening(self) -> None:
        """Refuse connections; those that serve a request go on."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for reading in self._idle:
            reading.cancel()

    async def follow_schedule(self) -> None:
        """Listen or not as the scenario says, until cancelled."""
        while True:
            with contextlib.suppress(EngineClockError):
                await (self.stop_listening() if self._is_closed(await self._clock.now()) else self.listen())
            await asyncio.sleep(_SCHEDULE_SECONDS)

    def _is_closed(self, now: datetime) -> bool:
        return any(window.covers(now, self._parts.begun) for window in self._scenario.closed)

    async def drop_connections(self) -> None:
        """End all connections."""
        standing = list(self._connections)
        for task in standing:
            task.cancel()
        await asyncio.gather(*standing, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await read_http(reader)
            while request and await self._served(request, reader, writer):
                request = await self._next(reader)
        finally:
            await close(writer)

    async def _served(
        self, request: HttpRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer a request; whether the connection goes on."""
        stranger = self._listening.asks_for_certificates and not writer.get_extra_info("peercert")
        answer = _FORBIDDEN if stranger else await self._answer(request)
        return await deliver(answer, reader, writer, keeps=request.keeps and self._server is not None)

    async def _next(self, reader: asyncio.StreamReader) -> HttpRequest | None:
        """The next request of a connection that was kept, unless nobody is listened to any more."""
        reading = asyncio.create_task(read_http(reader))
        self._idle.add(reading)
        reading.add_done_callback(self._idle.discard)
        try:
            await asyncio.wait({reading})
        finally:
            reading.cancel()
        return None if reading.cancelled() else reading.result()

    async def _answer(self, request: HttpRequest) -> Answer:
        place = request.path.partition("?")[0].strip("/").partition("/")[0]
        payer = self._payers.get(place)
        if payer is None:
            return self._shown(place) if request.method == "GET" else _NOT_FOUND
        try:
            now = await self._clock.now()
            return payer.describe(now) if request.method == "GET" else payer.answer(request.body, now)
        except EngineClockError:
            return _WITHOUT_TIME

    def _shown(self, place: str) -> Answer:
        if place == "_health":
            return Answer(200, b"ok")
        if place != "_ledger":
            return _NOT_FOUND
        rows = [json.loads(as_line(entry)) for entry in self.ledger.entries]
        return Answer(200, json.dumps(rows).encode())


@asynccontextmanager
async def simulated_payers(
    scenario: Scenario, clock: Clock, listening: Listening | None = None, ledger: Ledger | None = None
) -> AsyncIterator[Simulator]:
    """A simulator that listens until the block ends."""
    parts = SimulatorParts(
        ledger=ledger or Ledger(),
        schemas=Schemas(),
        rng=random.Random(scenario.seed),  # noqa: S311  # a script's dice, not a secret
        begun=await clock.now(),
    )
    simulator = Simulator(scenario, parts, clock, listening or Listening())
    await simulator.listen()
    schedule = asyncio.create_task(simulator.follow_schedule()) if scenario.closed else None
    try:
        yield simulator
    finally:
        if schedule:
            schedule.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await schedule
        await simulator.stop_listening()
        await simulator.drop_connections()
