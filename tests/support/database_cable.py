"""A cable to a server that tests can cut and mend: a TCP port that forwards while it is whole."""

import asyncio
from contextlib import suppress

from sqlalchemy.engine import make_url

PORTS = {"postgresql": 5432, "redis": 6379}


class Cable:
    """Forwards connections to a PostgreSQL or Redis address; a cut ends them and refuses new ones.

    While it is hushed connections stay, and new ones are taken, but nothing passes.
    """

    def __init__(self, url: str) -> None:
        self._target = make_url(url)
        self._server: asyncio.Server | None = None
        self._port = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._passing = asyncio.Event()
        self._passing.set()

    @property
    def url(self) -> str:
        """The address at this end."""
        here = self._target.difference_update_query(["host"]).set(host="127.0.0.1", port=self._port)
        return here.render_as_string(hide_password=False)

    async def mend(self) -> None:
        """Let connections through, always on the same port."""
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    def hush(self) -> None:
        """Let nothing pass, as where packets are dropped."""
        self._passing.clear()

    def unhush(self) -> None:
        """Let everything pass again, what was held back first."""
        self._passing.set()

    async def cut(self) -> None:
        """End every connection and refuse new ones."""
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await self._connect()
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))
        self._writers -= {writer, far_writer}

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host = str(self._target.query.get("host", self._target.host))
        port = self._target.port or PORTS[self._target.get_backend_name()]
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                await self._passing.wait()
                writer.write(data)
                await writer.drain()
        writer.close()
