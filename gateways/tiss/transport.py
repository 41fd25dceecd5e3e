"""One HTTP exchange, told apart by how far it got: no redirects, no second try."""

import asyncio
import socket
import ssl
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Protocol

import httpx

from gateways.own_limits import own_limit, reasons
from gateways.tiss.connections import Connections, open_connections, waits_of
from gateways.tiss.heads import body_has, head_is_there
from gateways.tiss.judgement import Broken, Fenced, HttpAnswer, Reply, Unread
from gateways.tiss.settings import PayerSettings

_LONGEST_WISH = timedelta(days=1)
_PIECE = 262_144
_CLOSED_UNDER_US = frozenset({Broken("NET:RESET"), Broken("NET:BROKEN_SEND")})
_MOST_PIECES, _AT_A_TIME = 50_000, 200
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})
TROUBLES = (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError, zlib.error)
_CONNECTING = (
    (socket.gaierror, "NET:DNS"),
    (ConnectionRefusedError, "NET:REFUSED"),
    (ssl.SSLError, "NET:TLS"),
)
_ALERTS = (
    "ALERT_CERTIFICATE_REQUIRED",
    "ALERT_BAD_CERTIFICATE",
    "ALERT_UNKNOWN_CA",
    "ALERT_CERTIFICATE_EXPIRED",
)


MayLeave = Callable[[timedelta], Awaitable[bool]]
"""Whether a request may leave that may take so long."""


async def at_any_time(_takes: timedelta) -> bool:
    """For requests that nobody else can have made meanwhile."""
    return True


@dataclass(frozen=True, slots=True)
class Request:
    """What goes where, and when: the clock gives Retry-After dates their meaning.

    `may_leave` is asked when nothing stands between the request and its first byte any more.
    """

    url: str
    message: bytes
    now: datetime
    may_leave: MayLeave = at_any_time


class Outgoing:
    """A message that knows whether its last byte has been handed to the network."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.begun = False
        self.left = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """All but the last byte, piece by piece, then the last: before it, it cannot have arrived."""
        self.begun = True
        for start in range(0, len(self._data) - 1, _PIECE):
            yield self._data[start : min(start + _PIECE, len(self._data) - 1)]
        self.left = True
        yield self._data[-1:]


class Asking(Protocol):
    """Asks one payer; what payers and networks do is a reply, never an exception."""

    async def ask(self, request: Request) -> Reply:
        """Send once."""


class NoLine:
    """For who checks files and sends none."""

    async def ask(self, request: Request) -> Reply:
        """Nobody can be asked."""
        raise TypeError(f"no line leads to {request.url}")


class Line:
    """One payer's connections, no more at once than it likes; the others wait their turn.

    Once one was closed under a message none is kept any more: the payer may be one that closes them early.
    """

    def __init__(self, payer: PayerSettings, connections: Connections) -> None:
        self._payer = payer
        self._connections = connections
        self._free = asyncio.Semaphore(payer.at_once)
        self._keeps = payer.timeouts.keep > 0

    async def ask(self, request: Request) -> Reply:
        """Send once, when it is this request's turn, if it still may leave then."""
        try:
            async with asyncio.timeout(self._payer.timeouts.queue):
                await self._free.acquire()
        except TimeoutError:
            return Broken("NET:BUSY")
        try:
            return await self._asked(request)
        finally:
            self._free.release()

    async def _asked(self, request: Request) -> Reply:
        http = await self._connections.take()
        try:
            if not await request.may_leave(timedelta(seconds=self._payer.timeouts.total)):
                return Fenced()
            reply = await exchange(http, request, self._payer, keeps=self._keeps)
            self._keeps = self._keeps and reply not in _CLOSED_UNDER_US
            return reply
        finally:
            self._connections.give_back(http)


@asynccontextmanager
async def open_line(payer: PayerSettings) -> AsyncIterator[Line]:
    """A line to a payer, closed at the end."""
    async with open_connections(payer) as connections:
        yield Line(payer, connections)


async def exchange(
    http: httpx.AsyncBaseTransport, request: Request, payer: PayerSettings, *, keeps: bool = False
) -> Reply:
    """Send once, and read the answer within the payer's limits."""
    outgoing = Outgoing(request.message)
    response: httpx.Response | None = None
    try:
        async with asyncio.timeout(payer.timeouts.total):
            response = await http.handle_async_request(_message(request, outgoing, payer, keeps=keeps))
            async with aclosing(response):
                head_is_there(response)
                body = await _body(response, payer.max_answer_bytes)
    except TROUBLES as error:
        if response is None:
            return _broken(error, outgoing)
        return _unread(response, request, _cut(error), left=outgoing.left)
    except (RuntimeError, MemoryError) as error:
        if (code := _ours(error, outgoing)) is None:
            raise
        return Broken(code)
    if body is None:
        return _unread(response, request, "NET:TOO_LARGE", left=outgoing.left)
    return HttpAnswer(response.status_code, body, _wish(response, request))


def _message(request: Request, outgoing: Outgoing, payer: PayerSettings, *, keeps: bool) -> httpx.Request:
    """For the transport itself: a client would look for cookies and redirects before and after it."""
    url, headers = httpx.URL(request.url), _headers(request, payer, keeps=keeps)
    if url.userinfo:
        login = b64encode(f"{url.username}:{url.password}".encode()).decode()
        headers["Authorization"] = f"Basic {login}"
    waits = {"timeout": waits_of(payer).as_dict()}
    return httpx.Request("POST", url, headers=headers, content=outgoing, extensions=waits)


def _headers(request: Request, payer: PayerSettings, *, keeps: bool) -> dict[str, str]:
    return {
        "Content-Type": f"text/xml; charset={payer.encoding.upper()}",
        "Content-Length": str(len(request.message)),
        "SOAPAction": '""',
        "Accept": "text/xml",
        "Accept-Encoding": "identity",
        "Connection": "keep-alive" if keeps else "close",
        "User-Agent": "reenvio",
    }


async def _body(response: httpx.Response, limit: int) -> bytes | None:
    """The body, or None when it is larger than the limit; a packed one is unpacked within it.

    Pieces that have come already are given out without a pause, so one is made among very many.
    """
    body, pieces = bytearray(), 0
    async for chunk in response.aiter_raw():
        body += chunk
        body_has(response, len(body))
        pieces += 1
        if len(body) > limit or pieces > _MOST_PIECES:
            return None
        if pieces % _AT_A_TIME == 0:
            await asyncio.sleep(0)
    if response.headers.get("content-encoding", "identity").lower() in _PACKED:
        return await asyncio.to_thread(_unpacked, bytes(body), limit)
    return bytes(body)


def _unpacked(body: bytes, limit: int) -> bytes | None:
    packed = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    unpacked = packed.decompress(body, limit + 1)
    if len(unpacked) > limit:
        return None
    if body and not packed.eof:
        raise zlib.error("the packed answer breaks off")
    return unpacked


def _cut(error: Exception) -> str:
    return "NET:READ_TIMEOUT" if _is_timeout(error) else "NET:TRUNCATED"


def _unread(response: httpx.Response, request: Request, code: str, *, left: bool) -> Reply:
    """A success is none without its body; an error is clear about the batch only if that had not left."""
    if response.status_code < httpx.codes.MULTIPLE_CHOICES:
        return Broken(code)
    status, wish = response.status_code, _wish(response, request)
    return Unread(status, code, wish) if left else HttpAnswer(status, b"", wish)


def _ours(error: Exception, outgoing: Outgoing) -> str | None:
    """The limit of our own that kept the message from leaving."""
    return None if outgoing.begun else own_limit(error)


def _broken(error: Exception, outgoing: Outgoing) -> Broken:
    if code := _ours(error, outgoing):
        return Broken(code)
    behind = list(reasons(error))
    if any(isinstance(reason, ssl.SSLCertVerificationError) for reason in behind):
        return Broken("NET:CERTIFICATE")
    if any(_refuses_our_certificate(reason) for reason in behind):
        return Broken("NET:CLIENT_CERTIFICATE")
    if outgoing.left:
        return Broken(_after(error))
    return Broken(_during(error) if outgoing.begun else _before(error, behind))


def _before(error: Exception, behind: list[BaseException]) -> str:
    """No byte had left."""
    if _is_timeout(error):
        return "NET:CONNECT_TIMEOUT"
    for kind, code in _CONNECTING:
        if any(isinstance(reason, kind) for reason in behind):
            return code
    return "NET:UNREACHABLE"


def _during(error: Exception) -> str:
    """Some bytes had left, but not the last one."""
    return "NET:WRITE_TIMEOUT" if _is_timeout(error) else "NET:BROKEN_SEND"


def _after(error: Exception) -> str:
    """The last byte had left."""
    if _is_timeout(error):
        return "NET:READ_TIMEOUT"
    foreign = isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error)
    return "NET:NOT_HTTP" if foreign else "NET:RESET"


def _is_timeout(error: Exception) -> bool:
    return isinstance(error, httpx.TimeoutException | TimeoutError)


def _refuses_our_certificate(reason: BaseException) -> bool:
    """TLS 1.3 says so only after the client believes the connection to stand."""
    return isinstance(reason, ssl.SSLError) and any(word in (reason.reason or "") for word in _ALERTS)


def _wish(response: httpx.Response, request: Request) -> timedelta | None:
    """Retry-After: seconds or a date; never negative, never more than a day."""
    text = response.headers.get("retry-after", "").strip()
    try:
        wait = timedelta(seconds=int(text)) if text.isdecimal() else parsedate_to_datetime(text) - request.now
    except (ValueError, TypeError, OverflowError):
        return None
    return max(timedelta(0), min(wait, _LONGEST_WISH))
