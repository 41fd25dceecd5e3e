"""HTTP/1.1 by hand, because a simulated payer must be able to misbehave below it."""

import asyncio
import contextlib
import socket
import struct
from dataclasses import dataclass
from http import HTTPStatus

from gateways.practice.simulator.answer import Answer
from gateways.practice.simulator.request import MAX_REQUEST_BYTES

_HANG_SECONDS = 600.0
_RESET = struct.pack("ii", 1, 0)  # linger for no time: the connection ends with a reset


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request that came whole; `keeps` says that its connection may be used again."""

    method: str
    path: str
    body: bytes
    keeps: bool = False


async def read_http(reader: asyncio.StreamReader) -> HttpRequest | None:
    """The next request; None when none comes, or none we understand."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        start, *lines = head.split("\r\n")
        method, path, _version = start.split(" ")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        size = int(headers.get("content-length", "0"))
        body = await reader.readexactly(size) if 0 < size <= MAX_REQUEST_BYTES else b""
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
        return None
    return HttpRequest(method, path, body, keeps=headers.get("connection", "").lower() == "keep-alive")


async def deliver(
    answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, keeps: bool
) -> bool:
    """Send an answer, or lose it the way it says; whether the connection goes on afterwards."""
    if answer.delay:
        await _wait(answer.delay, reader)
    match answer.loss:
        case "reset":
            _reset(writer)
        case "hang":
            await _wait(_HANG_SECONDS, reader)
        case "truncate":
            whole = _bytes(answer, keeps=False)
            await _write(writer, whole[: len(whole) - len(answer.body) // 2 - 1])
        case None:
            await _write(writer, _bytes(answer, keeps=keeps))
            return keeps and answer.is_http
        case "close":
            pass
    return False


async def close(writer: asyncio.StreamWriter) -> None:
    """End a connection, whatever state it is in."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def _bytes(answer: Answer, *, keeps: bool) -> bytes:
    if not answer.is_http:
        return answer.body
    wish = f"Retry-After: {answer.retry_after}\r\n" if answer.retry_after is not None else ""
    kind = "text/html" if answer.body.startswith(b"<!DOCTYPE html") else "text/xml"
    head = (
        f"HTTP/1.1 {answer.status} {_phrase(answer.status)}\r\nContent-Type: {kind}\r\n{wish}"
        f"Content-Length: {len(answer.body)}\r\nConnection: {'keep-alive' if keeps else 'close'}\r\n\r\n"
    )
    return head.encode("latin-1") + answer.body


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        writer.write(data)
        await writer.drain()


async def _wait(seconds: float, reader: asyncio.StreamReader) -> None:
    """Until the time has passed or the client has gone, whatever comes first."""
    with contextlib.suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(seconds):
            await reader.read(1)


def _reset(writer: asyncio.StreamWriter) -> None:
    plain = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
