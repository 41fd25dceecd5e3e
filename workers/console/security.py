"""Headers on every answer: nothing of others runs, nothing is framed, nothing is kept."""

from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workers.config.console import ConsoleSettings

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
ALWAYS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer browsers send our own forms with `Origin: null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
NOT_KEPT = "no-store"
MISDIRECTED = 421
HTTPS_ONLY = "max-age=31536000"


class OwnHost:
    """Answers nobody who was led here under another site's name."""

    def __init__(self, app: ASGIApp, *, settings: ConsoleSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse as a request that was meant for somebody else."""
        if scope["type"] == "http" and not self._settings.is_own_host(Headers(scope=scope).get("host", "")):
            await Response(status_code=MISDIRECTED)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class SecurityHeaders:
    """Adds them to every answer, errors too."""

    def __init__(self, app: ASGIApp, *, is_encrypted: bool) -> None:
        self._app = app
        self._headers = dict(ALWAYS) | ({"Strict-Transport-Security": HTTPS_ONLY} if is_encrypted else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and add the headers to what begins."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                headers.setdefault("Cache-Control", NOT_KEPT)
            await send(message)

        await self._app(scope, receive, with_headers)
