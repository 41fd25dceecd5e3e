"""The HTTP interface beside a worker, or alone."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from bpmn.names import JobType
from workers.api.ground import ApiGround, never
from workers.api.routes import api
from workers.app.composition import App
from workers.app.garbage import settle
from workers.app.http_server import Place, serving
from workers.app.probes import probed
from workers.app.serving import api_probes, serve, stop_on_signal
from workers.config.intake import ApiSettings
from workers.payers.orders import Orders
from workers.policy.following import following
from workers.runtime.loop_watch import watched_loop

log = structlog.get_logger(__name__)


@asynccontextmanager
async def serving_api(
    app: App, settings: ApiSettings, is_stopping: Callable[[], bool] = never
) -> AsyncIterator[int | None]:
    """Take claims in over HTTP while the block runs; yields the port, None without API_PORT.

    While we are stopping claims are still shown, and no more are taken in.
    """
    if settings.port is None:
        yield None
        return
    orders = Orders(app.store, app.payer_limits, app.waker())
    ground = ApiGround(app.intake, orders, app.policy.current, settings.accepted_tokens, is_stopping)
    async with serving(api(ground), Place(settings.host, settings.port, "API_PORT")) as port:
        log.info("api_started", host=settings.host, port=port)
        yield port
    log.info("api_stopped")


async def serve_beside_api(app: App, only: frozenset[JobType]) -> None:
    """Work until a signal as `serve` does, and take claims in over HTTP where API_PORT is set."""
    with stop_on_signal() as stop:
        async with serving_api(app, app.settings.api, stop.is_set):
            await serve(app, only, stop)


async def serve_api_alone(app: App) -> None:
    """Take claims in over HTTP until a signal, without a worker in the same process."""
    with stop_on_signal() as stop:
        async with (
            watched_loop(app.listener),
            following(app.follower),
            probed(app.settings.probes, api_probes(app)),
            serving_api(app, app.settings.api, stop.is_set),
        ):
            settle()
            await stop.wait()
