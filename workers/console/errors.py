"""Everything that goes wrong, as a page in our own words: never a traceback, never a text of others."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domain.errors import Trouble
from persistence.database.trouble import UNREACHABLE
from workers.console.access.forms import ForgedForm, OversizeForm, TooManyFiles
from workers.console.guard import arrived
from workers.console.pages.visit import Console, Visit, render
from workers.console.words import DEFAULT, words_of

_UNASKED = datetime.min.replace(tzinfo=UTC)
"""An error page tells no time."""
log = structlog.get_logger(__name__)
Handling = Callable[[Request, Exception], Awaitable[Response]]


def handlers_of(console: Console) -> Mapping[type[Exception], Handling]:
    """What answers which error."""
    return {
        ForgedForm: _saying(console, 403, "error.forged"),
        OversizeForm: _saying(console, 413, "error.oversize"),
        TooManyFiles: _saying(console, 413, "error.too_many_files"),
        HTTPException: _http(console),
        Trouble: _unavailable(console),
        **dict.fromkeys(UNREACHABLE, _unavailable(console)),
    }


def _saying(console: Console, status: int, name: str) -> Handling:
    async def answering(request: Request, _error: Exception) -> Response:
        return told(await _asking(console, request), status, name)

    return answering


def _http(console: Console) -> Handling:
    async def answering(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        name = "error.not_found" if status in (404, 405) else "error.refused"
        return told(await _asking(console, request), status, name)

    return answering


def _unavailable(console: Console) -> Handling:
    async def answering(request: Request, error: Exception) -> Response:
        log.warning("console_unavailable", why=str(error) if isinstance(error, Trouble) else "no database")
        return told(_nobody(console, request), 503, "error.unavailable")

    return answering


class Surprises:
    """Answers what nobody foresaw; below the headers, so that its page has them too."""

    def __init__(self, app: ASGIApp, *, console: Console) -> None:
        self._app = app
        self._console = console

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; an answer that has begun can only be broken off."""
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:
            log.error("console_failed", error=type(error).__name__)  # noqa: TRY400  # its text may quote a person
            if begun:
                raise
            await told(_nobody(self._console, Request(scope)), 500, "error.ours")(scope, receive, send)


async def _asking(console: Console, request: Request) -> Visit:
    """Who asks, in their language; nobody where that cannot be found out."""
    try:
        return await arrived(request, console, is_there=False)
    except (Trouble, *UNREACHABLE):
        return _nobody(console, request)


def _nobody(console: Console, request: Request) -> Visit:
    """Nobody is asked who they are: that may be what does not work."""
    return Visit(request, console, words_of(DEFAULT), _UNASKED)


def told(visit: Visit, status: int, name: str) -> Response:
    """The page about it."""
    return render(visit, "error.html", status, message=name, status=status)
