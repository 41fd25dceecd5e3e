"""Serves an HTTP application beside a block of code, in the same loop, to callers who come to the point."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import ClassVar

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from domain.errors import Trouble

GRACE_SECONDS = 5
REQUEST_SECONDS = 10.0
MOST_CONNECTIONS = 200


class PortError(Trouble):
    """A port cannot be opened; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen (0: on a free port), and the setting that says so."""

    host: str
    port: int
    setting: str


@dataclass(frozen=True, slots=True)
class CallerLimits:
    """How long a caller may take to say what it wants, and how many may be there at once."""

    request_seconds: float = REQUEST_SECONDS
    connections: int = MOST_CONNECTIONS


USUAL = CallerLimits()


@asynccontextmanager
async def serving(app: Starlette, place: Place, limits: CallerLimits = USUAL) -> AsyncIterator[int]:
    """Serve until the block ends; yields the port."""
    listener = _listen(place)
    config = uvicorn.Config(
        app,
        http=type("_Protocol", (_BoundedProtocol,), {"limits": limits}),
        log_level="critical",
        lifespan="off",
        proxy_headers=False,  # whoever passes them through would let callers choose where they come from
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _QuietServer(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listener.close()


class _BoundedProtocol(H11Protocol):
    """Ends connections that are too many, or idle, or say too slowly what they want.

    The server itself only limits the pause between two requests.
    """

    limits: ClassVar[CallerLimits] = USUAL
    waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for its first request."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            transport.abort()
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        """A request that is whole up to its body is served; until then its time runs."""
        super().data_received(data)
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            self._wait_for_request()
        else:
            self._end_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._end_wait()
        super().connection_lost(exc)

    def _wait_for_request(self) -> None:
        if self.waiting is None:
            self.waiting = self.loop.call_later(self.limits.request_seconds, self.transport.abort)

    def _end_wait(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None


class _QuietServer(uvicorn.Server):
    """Leaves the process's signals to the worker."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _listen(place: Place) -> socket.socket:
    try:
        return socket.create_server((place.host, place.port))
    except OSError as error:
        raise PortError(
            f"Nothing can listen on {place.host}:{place.port} ({error.strerror}): "
            f"choose another {place.setting}."
        ) from error
