"""`reenvio api`: claims over HTTP, without a worker in the same process."""

import asyncio

from workers.api import serve_api_alone
from workers.app.cluster import find_cluster
from workers.app.composition import claims_flowing
from workers.app.logs import configure_logs
from workers.config.settings import Settings, SettingsError, read_settings


def api() -> None:
    """Take claims in over HTTP (API_PORT, API_TOKENS) until SIGINT or SIGTERM."""
    settings = read_settings()
    configure_logs(settings.logs.level, settings.logs.format)
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    if settings.api.port is None:
        raise SettingsError("API_PORT is not set: say where to listen, for example API_PORT=8090.")
    async with claims_flowing(settings, find_cluster(settings)) as app:
        await serve_api_alone(app)
