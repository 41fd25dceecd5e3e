"""Reads a request's file: of the right kind, within its bound and its time."""

import asyncio

from starlette.requests import ClientDisconnect, Request

from domain.refusals import malformed, too_large

BODY_SECONDS = 60.0
XML = frozenset({"application/xml", "text/xml"})


def is_xml(request: Request) -> bool:
    """Whether the body says that it is XML; its encoding is the document's own affair."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() in XML


async def read_body(request: Request, limit: int) -> bytes:
    """The body; one that is too large is refused as soon as that is clear, and never held whole."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
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


async def _collected(request: Request, limit: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise too_large(limit)
    return bytes(body)
