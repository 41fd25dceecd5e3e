"""A mail server's end of the line below aiosmtpd: whatever bytes a test wants for each command."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

SmtpHandler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
BANNER, END = "banner", "."
GOOD = {
    BANNER: b"220 practice\r\n",
    "EHLO": b"250 practice\r\n",
    "MAIL": b"250 ok\r\n",
    "RCPT": b"250 ok\r\n",
    "RSET": b"250 ok\r\n",
    "DATA": b"354 go on\r\n",
    END: b"250 taken\r\n",
}
"""What a plain server answers, by the beginning of the command; END is the end of the text."""


def saying(**answers: bytes) -> SmtpHandler:
    """A server that gives these answers, and good ones to all other commands; `end` follows the text."""
    given = GOOD | {{"end": END}.get(name, name): answer for name, answer in answers.items()}

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(given[BANNER])
        is_text = False
        while line := await reader.readline():
            if is_text and line != b".\r\n":
                continue
            verb = END if is_text else line[:4].strip().decode()
            answer = given.get(verb, b"500 what\r\n")
            is_text = verb == "DATA" and answer.startswith(b"354")
            writer.write(answer)
            await writer.drain()

    return handle


@asynccontextmanager
async def raw_smtp(handler: SmtpHandler) -> AsyncIterator[int]:
    """The port of a server on this machine while the block runs."""
    serving: set[asyncio.Task[None]] = set()

    async def handled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await handler(reader, writer)

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(handled(reader, writer))
        serving.add(task)
        task.add_done_callback(lambda _done: writer.close())

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
