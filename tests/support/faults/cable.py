"""A cable between a worker and its gateway that can be cut, or left connected and dead (half-open)."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

HOST = "127.0.0.1"
CHUNK = 65_536
_RESET = struct.pack("ii", 1, 0)  # lingering for no time makes the close a reset


class Cable:
    """Forwards TCP connections to a port on this machine."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._alive = asyncio.Event()
        self._alive.set()
        self._ends: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.connections = 0

    @property
    def address(self) -> str:
        """The worker's end."""
        assert self._server is not None
        return f"{HOST}:{self._server.sockets[0].getsockname()[1]}"

    async def plug_in(self) -> None:
        """Start to forward."""
        self._server = await asyncio.start_server(self._carry, HOST, 0)

    async def unplug(self) -> None:
        """Stop for good."""
        assert self._server is not None
        self._server.close()
        self.cut()
        self.mend()
        await self._server.wait_closed()

    def go_dead(self) -> None:
        """Connections are taken and stay open, but nothing passes any more."""
        self._alive.clear()

    def mend(self) -> None:
        """What waited passes, and all that follows."""
        self._alive.set()

    def cut(self) -> None:
        """Reset every connection; new ones are welcome."""
        for end in self._ends:
            end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            end.transport.abort()

    async def _carry(self, near: asyncio.StreamReader, near_end: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._ends.add(near_end)
        with suppress(OSError):
            far, far_end = await asyncio.open_connection(HOST, self._target_port)
            self._ends.add(far_end)
            await asyncio.gather(self._pump(near, far_end), self._pump(far, near_end))
            self._ends.discard(far_end)
        near_end.close()
        self._ends.discard(near_end)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(CHUNK):
                await self._alive.wait()
                sink.write(data)
                await sink.drain()
        sink.close()


@asynccontextmanager
async def cable_to(port: int) -> AsyncIterator[Cable]:
    """A cable that is plugged in for as long as the block runs."""
    cable = Cable(port)
    await cable.plug_in()
    try:
        yield cable
    finally:
        await cable.unplug()
