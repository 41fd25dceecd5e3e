"""Reads the head of an answer in small pieces: one that never ends must not keep the event loop to itself.

All that one read brings is taken apart without a pause: of the shortest interim answers (HTTP 1xx) a usual
read holds thousands.

It also counts what it reads. A connection is used again only after the plainest of answers, one head and the
length that it names, to the byte: httpx would read what is left over as the answer to the next message.
"""

import asyncio
import re
import ssl
from collections.abc import Iterable

import httpcore
import httpx

PIECE = 4_096
MOST_INTERIM_ANSWERS = 20
LONGEST = 131_072
"""Of a head with its interim answers; one head alone may have 100 kB."""
_INTERIM = re.compile(rb"HTTP/1\.\d 1\d\d")
_END_OF_HEAD = b"\r\n\r\n"
_OVERLAP = len(b"HTTP/1.1 100") - 1
_SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


class HeadFirstStream(httpcore.AsyncNetworkStream):
    """A connection that reads by small pieces, within bounds, until its answer's head is there."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._begin()

    def _begin(self) -> None:
        self._in_head = True
        self._read = 0
        self._interim = 0
        self._tail = b""
        self._begins = bytearray()
        self._body = 0

    def head_is_there(self) -> None:
        """What follows is the body, which has bounds of its own."""
        self._in_head = False

    def body_has(self, length: int) -> None:
        """So much of the body was taken in."""
        self._body = length

    @property
    def _is_plain(self) -> bool:
        """Whether one head and this body are all that came."""
        end = self._begins.find(_END_OF_HEAD)
        return not self._interim and end >= 0 and self._read == end + len(_END_OF_HEAD) + self._body

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """The next piece; everybody else has a turn before it is taken apart."""
        if not self._in_head:
            piece = await self._stream.read(max_bytes, timeout)
            self._read += len(piece)
            return piece
        piece = await self._stream.read(min(max_bytes, PIECE), timeout)
        await asyncio.sleep(0)
        self._count(piece)
        return piece

    def _count(self, piece: bytes) -> None:
        seen = self._tail + piece
        self._read += len(piece)
        self._begins += piece
        self._interim += len(_INTERIM.findall(seen))
        self._tail = seen[-_OVERLAP:]
        if self._interim > MOST_INTERIM_ANSWERS or self._read > LONGEST:
            raise httpcore.RemoteProtocolError("the head of the answer does not end")

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """As the connection does; what is read next is the head of the answer to it."""
        self._begin()
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """As the connection does."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        """The same care inside."""
        return HeadFirstStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> object:
        """As the connection does; one that is to be used again has nothing to read."""
        if info == "is_readable" and not self._is_plain:
            return True
        return self._stream.get_extra_info(info)


class HeadFirstBackend(httpcore.AsyncNetworkBackend):
    """Connections that read heads with care."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend) -> None:
        self._backend = backend

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[_SocketOption] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection like any other, read with care."""
        opened = await self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        return HeadFirstStream(opened)

    async def sleep(self, seconds: float) -> None:
        """As any other does."""
        await self._backend.sleep(seconds)


def head_first(transport: httpx.AsyncHTTPTransport) -> httpx.AsyncHTTPTransport:
    """The transport, whose connections read heads with care; httpx itself has no place to ask for it."""
    pool = transport._pool
    pool._network_backend = HeadFirstBackend(pool._network_backend)
    return transport


def head_is_there(response: httpx.Response) -> None:
    """Let the rest of an answer be read as fast as it comes."""
    if stream := _stream_of(response):
        stream.head_is_there()


def body_has(response: httpx.Response, length: int) -> None:
    """Tell the connection how much of the body was taken in: it is used again if nothing else came."""
    if stream := _stream_of(response):
        stream.body_has(length)


def _stream_of(response: httpx.Response) -> HeadFirstStream | None:
    stream = response.extensions.get("network_stream")
    return stream if isinstance(stream, HeadFirstStream) else None
