"""Reads a request's file: of the right kind, within its bound and its time."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import ClientDisconnect, Request

from domain.refusals import malformed, too_large

BODY_SECONDS = 60.0
FILES_AT_ONCE = 4
XML = frozenset({"application/xml", "text/xml"})


class NoRoomError(Exception):
    """As many files are held as may be: this one is asked for again later."""


class BodyRoom:
    """How many bytes of files may be held at once: as many as a few files of the largest size need."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._free = FILES_AT_ONCE * largest

    @contextmanager
    def taken(self, request: Request) -> Iterator[None]:
        """Room for a request's file while it is handled; NoRoomError where there is none."""
        size = min(_announced(request) or self._largest, self._largest)
        if size > self._free:
            raise NoRoomError
        self._free -= size
        try:
            yield
        finally:
            self._free += size


def is_xml(request: Request) -> bool:
    """Whether the body says that it is XML; its encoding is the document's own affair."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() in XML


async def read_body(request: Request, limit: int) -> bytes:
    """The body; one that is too large is refused as soon as that is clear, and never held whole."""
    if (_announced(request) or 0) > limit:
        raise too_large(limit)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _collected(request, limit)
    except (TimeoutError, ClientDisconnect) as error:
        raise malformed(
            "file",
            f"it did not arrive within {BODY_SECONDS:g} s",
            rule="a whole body",
            remedy="Send it again.",
        ) from error


def _announced(request: Request) -> int | None:
    """The size of the body; a chunked one has none, whatever else its head says."""
    if "transfer-encoding" in request.headers:
        return None
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() and len(length) < 20 else None


async def _collected(request: Request, limit: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise too_large(limit)
    return bytes(body)
