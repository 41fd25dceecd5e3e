"""Asking a provider: within a time, no more than a page of JSON, and going nowhere else than was asked."""

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpx

from gateways.oidc.trouble import ProviderAway

SECONDS = 8.0
BYTES = 262_144
HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}
OpenHttp = Callable[[], httpx.AsyncClient]


@dataclass(frozen=True, slots=True)
class Heard:
    """What it answered; `document` is empty where that was no JSON object."""

    status: int
    document: Mapping[str, object] = field(repr=False)


def opened_http() -> httpx.AsyncClient:
    """A client of its own for each question: people come in seldom, and nothing is left open."""
    return httpx.AsyncClient(
        verify=ssl.create_default_context(),
        timeout=SECONDS,
        follow_redirects=False,
        trust_env=False,
        headers=HEADERS,
    )


async def ask(opened: OpenHttp, request: httpx.Request) -> Heard:
    """Send once; whatever networks do is a provider that is away."""
    try:
        async with asyncio.timeout(SECONDS), opened() as http:
            answer = await http.send(request, stream=True)
            try:
                return Heard(answer.status_code, _document(await _bounded(answer)))
            finally:
                await answer.aclose()
    except (httpx.HTTPError, httpx.StreamError, OSError, TimeoutError) as error:
        raise ProviderAway(type(error).__name__) from None


async def read_document(opened: OpenHttp, address: str) -> Mapping[str, object]:
    """A document that must be there."""
    heard = await ask(opened, httpx.Request("GET", address, headers=HEADERS))
    if heard.status != httpx.codes.OK or not heard.document:
        raise ProviderAway(f"HTTP {heard.status}")
    return heard.document


async def _bounded(answer: httpx.Response) -> bytes:
    """Raw, so that nothing small is unpacked into something huge."""
    body = bytearray()
    async for piece in answer.aiter_raw():
        body += piece
        if len(body) > BYTES:
            raise ProviderAway("too large")
    return bytes(body)


def _document(body: bytes) -> Mapping[str, object]:
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
