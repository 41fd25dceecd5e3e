"""The probes: /livez, /readyz and /metrics on a port of their own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import structlog
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gateways.own_limits import NO_FILES, lacks_descriptors
from workers.app.http_server import Place, serving
from workers.config.settings import ProbeSettings
from workers.runtime.health import Health

log = structlog.get_logger(__name__)
Check = Callable[[], Awaitable[str | None]]
Exposition = Callable[[], bytes]


def nothing_to_show() -> bytes:
    """No metrics."""
    return b""


def probes(
    health: Health, checks: Sequence[Check] = (), exposition: Exposition = nothing_to_show
) -> Starlette:
    """Liveness looks at our loops; readiness also at the gateway and at further checks."""

    async def moving() -> str | None:
        stalled = health.stalled()
        return f"stalled: {', '.join(stalled)}" if stalled else None

    return probe_routes([moving], [answered(health), *checks], exposition)


def answered(health: Health) -> Check:
    """Whether the gateway answers and the worker takes jobs."""

    async def check() -> str | None:
        return health.not_ready()

    return check


def probe_routes(live: Sequence[Check], ready: Sequence[Check], exposition: Exposition) -> Starlette:
    """Each answers the first trouble that its checks find, or that all is well."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")  # not one of those that work on claims

    async def livez(_request: Request) -> Response:
        return await _answer(live)

    async def readyz(_request: Request) -> Response:
        return await _answer(ready)

    async def metrics(_request: Request) -> Response:
        loop = asyncio.get_running_loop()  # thousands of lines: it has other work
        text = await loop.run_in_executor(thread, exposition)
        return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    routes = [Route("/livez", livez), Route("/readyz", readyz), Route("/metrics", metrics)]
    return Starlette(routes=routes)


async def first_trouble(checks: Sequence[Check]) -> str | None:
    """What the first check that finds something says."""
    for check in checks:
        if trouble := await check():
            return trouble
    return None


async def _answer(checks: Sequence[Check]) -> Response:
    trouble = await first_trouble(checks)
    return PlainTextResponse(trouble or "ok", status_code=503 if trouble else 200)


async def free_descriptors() -> str | None:
    """Whether another connection could be opened."""
    return NO_FILES if lacks_descriptors() else None


def serving_probes(app: Starlette, host: str, port: int) -> AbstractAsyncContextManager[int]:
    """Serve the probes beside a block; yields the port, which the system chooses for 0."""
    return serving(app, Place(host, port, "HEALTH_PORT"))


@asynccontextmanager
async def probed(settings: ProbeSettings, app: Starlette) -> AsyncIterator[None]:
    """Serve the probes beside a block, where HEALTH_PORT is set."""
    if settings.port is None:
        yield
        return
    async with serving_probes(app, settings.host, settings.port) as port:
        log.info("probes_started", port=port)
        yield
