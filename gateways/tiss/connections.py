"""A payer's connections: each has a transport of its own, which one message uses at a time.

A transport with many connections looks at all of them before and after every message.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from gateways.tiss.heads import head_first
from gateways.tiss.settings import PayerSettings, PayerSettingsError


def open_transport(payer: PayerSettings, tls: ssl.SSLContext) -> httpx.AsyncHTTPTransport:
    """One connection, which is used again for as long as the payer's settings say.

    Not for longer: a kept connection that the payer closes while a message is on its way makes a send look
    ambiguous that never arrived.
    """
    keep = payer.timeouts.keep
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=1 if keep else 0, keepalive_expiry=keep
    )
    transport = httpx.AsyncHTTPTransport(verify=tls, limits=limits, proxy=payer.proxy, trust_env=False)
    return head_first(transport)


def open_http(payer: PayerSettings) -> httpx.AsyncClient:
    """A client for one payer."""
    return httpx.AsyncClient(
        transport=open_transport(payer, tls_of(payer)),
        timeout=waits_of(payer),
        follow_redirects=False,
        trust_env=False,
    )


def waits_of(payer: PayerSettings) -> httpx.Timeout:
    """How long each part of an exchange is waited for."""
    waits = payer.timeouts
    return httpx.Timeout(connect=waits.connect, write=waits.write, read=waits.read, pool=None)


@dataclass(frozen=True, slots=True)
class _Free:
    http: httpx.AsyncHTTPTransport
    since: float


class Connections:
    """As many transports as messages were under way at once; whoever comes takes the one that was used last.

    Those whose connection has outlived its time are closed by whoever comes next.
    """

    def __init__(self, payer: PayerSettings) -> None:
        self._payer = payer
        self._tls = tls_of(payer)
        self._free: deque[_Free] = deque()
        self._opened: set[httpx.AsyncHTTPTransport] = set()

    async def take(self) -> httpx.AsyncHTTPTransport:
        """A transport that is nobody else's until it is given back."""
        await self._close_old()
        if self._free:
            return self._free.pop().http
        opened = open_transport(self._payer, self._tls)
        self._opened.add(opened)
        return opened

    def give_back(self, http: httpx.AsyncHTTPTransport) -> None:
        """Let others have it; nothing is waited for here, since an answer is in hand."""
        self._free.append(_Free(http, asyncio.get_running_loop().time()))

    async def close(self) -> None:
        """Close all of them, whoever uses them."""
        opened, self._opened = self._opened, set()
        self._free.clear()
        for http in opened:
            await http.aclose()

    async def _close_old(self) -> None:
        oldest = asyncio.get_running_loop().time() - self._payer.timeouts.keep
        while len(self._free) > 1 and self._free[0].since < oldest:
            old = self._free.popleft().http
            self._opened.discard(old)
            await old.aclose()


@asynccontextmanager
async def open_connections(payer: PayerSettings) -> AsyncIterator[Connections]:
    """Connections to a payer, closed at the end."""
    connections = Connections(payer)
    try:
        yield connections
    finally:
        await connections.close()


def tls_of(payer: PayerSettings) -> ssl.SSLContext:
    """What a payer's certificates are checked by, and ours; made once, since it reads files."""
    try:
        context = ssl.create_default_context(cafile=payer.ca_file)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if payer.certificate:
            secret = payer.key_password.get_secret_value() if payer.key_password else None
            context.load_cert_chain(payer.certificate, payer.key, secret)
    except (OSError, ssl.SSLError) as error:
        raise PayerSettingsError(
            f"Payer {payer.registro_ans}: its certificate files cannot be used "
            f"({error.strerror or 'wrong content or password'}): "
            "see ca_file, certificate, key, key_password_env."
        ) from error
    return context
