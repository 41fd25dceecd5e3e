"""The probes: /livez, /readyz and /metrics on a port of their own."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from domain.errors import Trouble
from workers.runtime.pulse import Vitals

Check = Callable[[], Awaitable[str | None]]


class HealthPortError(Trouble):
    """The health port cannot be opened; the text says what to do."""


def probes(vitals: Vitals, checks: Sequence[Check] = ()) -> Starlette:
    """Liveness looks at our loops; readiness also at the gateway and at further checks."""

    async def livez(_request: Request) -> Response:
        stalled = vitals.stalled()
        return _answer(f"stalled: {', '.join(stalled)}" if stalled else None)

    async def readyz(_request: Request) -> Response:
        trouble = vitals.not_ready()
        for check in checks:
            trouble = trouble or await check()
        return _answer(trouble)

    async def metrics(_request: Request) -> Response:
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    routes = [Route("/livez", livez), Route("/readyz", readyz), Route("/metrics", metrics)]
    return Starlette(routes=routes)


@asynccontextmanager
async def serving_probes(app: Starlette, host: str, port: int) -> AsyncIterator[int]:
    """Serve the probes beside the block; yields the port, which the system chooses for 0."""
    listener = _listen(host, port)
    server = _QuietServer(uvicorn.Config(app, log_level="critical", lifespan="off"))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listener.close()


class _QuietServer(uvicorn.Server):
    """Leaves the process's signals to the worker."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except OSError as error:
        raise HealthPortError(
            f"The probes cannot listen on {host}:{port} ({error.strerror}): choose another HEALTH_PORT."
        ) from error


def _answer(trouble: str | None) -> Response:
    return PlainTextResponse(trouble or "ok", status_code=503 if trouble else 200)
