"""The probes: /livez, /readyz and /metrics on a port of their own."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gateways.own_limits import NO_FILES, lacks_descriptors
from workers.app.http_server import Place, serving
from workers.runtime.health import Health

Check = Callable[[], Awaitable[str | None]]


def probes(health: Health, checks: Sequence[Check] = ()) -> Starlette:
    """Liveness looks at our loops; readiness also at the gateway and at further checks."""

    async def livez(_request: Request) -> Response:
        stalled = health.stalled()
        return _answer(f"stalled: {', '.join(stalled)}" if stalled else None)

    async def readyz(_request: Request) -> Response:
        trouble = health.not_ready()
        for check in checks:
            trouble = trouble or await check()
        return _answer(trouble)

    async def metrics(_request: Request) -> Response:
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    routes = [Route("/livez", livez), Route("/readyz", readyz), Route("/metrics", metrics)]
    return Starlette(routes=routes)


async def free_descriptors() -> str | None:
    """Whether another connection could be opened."""
    return NO_FILES if lacks_descriptors() else None


def serving_probes(app: Starlette, host: str, port: int) -> AbstractAsyncContextManager[int]:
    """Serve the probes beside a block; yields the port, which the system chooses for 0."""
    return serving(app, Place(host, port, "HEALTH_PORT"))


def _answer(trouble: str | None) -> Response:
    return PlainTextResponse(trouble or "ok", status_code=503 if trouble else 200)
