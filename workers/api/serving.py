"""The HTTP interface beside a worker, or alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from workers.api.routes import api
from workers.app.http_server import Place, serving
from workers.claims.intake import Intake
from workers.config.intake import ApiSettings

log = structlog.get_logger(__name__)


@asynccontextmanager
async def serving_api(intake: Intake, settings: ApiSettings) -> AsyncIterator[int | None]:
    """Take claims in over HTTP while the block runs; yields the port, None without API_PORT."""
    if settings.port is None:
        yield None
        return
    app = api(intake, settings.accepted_tokens)
    async with serving(app, Place(settings.host, settings.port, "API_PORT")) as port:
        log.info("api_started", host=settings.host, port=port)
        yield port
    log.info("api_stopped")
