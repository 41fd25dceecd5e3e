"""Serves an HTTP application beside a block of code, in the same loop."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette

from domain.errors import Trouble

GRACE_SECONDS = 5


class PortError(Trouble):
    """A port cannot be opened; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen (0: on a free port), and the setting that says so."""

    host: str
    port: int
    setting: str


@asynccontextmanager
async def serving(app: Starlette, place: Place) -> AsyncIterator[int]:
    """Serve until the block ends; yields the port."""
    listener = _listen(place)
    config = uvicorn.Config(
        app, log_level="critical", lifespan="off", timeout_graceful_shutdown=GRACE_SECONDS
    )
    server = _QuietServer(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listener.close()


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
