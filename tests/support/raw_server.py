"""A payer's end of the line below HTTP: whatever bytes a test wants."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[str]:
    """A server below HTTP."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"


def answering(*parts: bytes, pause: float = 0) -> Handler:
    """Read a request, then write these bytes."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        await reader.readexactly(int(size.partition(b":")[2]))
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)

    return handler


def http(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", "")
    return "\r\n".join(lines).encode() + body
