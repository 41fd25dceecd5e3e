"""`reenvio api`: claims over HTTP, without a worker in the same process."""

import asyncio

from workers.api import serving_api
from workers.app import composition
from workers.app.composition import engine_config, find_cluster
from workers.app.logs import configure_logs
from workers.app.serving import stop_on_signal
from workers.config.engine import read_zeebe_settings
from workers.config.intake import read_intake_settings
from workers.config.settings import Settings, SettingsError, read_settings


def api() -> None:
    """Take claims in over HTTP (API_PORT, API_TOKENS) until SIGINT or SIGTERM."""
    settings = read_settings()
    configure_logs(settings.log_level, settings.log_format)
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    intake = read_intake_settings()
    if intake.api_port is None:
        raise SettingsError("API_PORT is not set: say where to listen, for example API_PORT=8090.")
    cluster = find_cluster(read_zeebe_settings(), engine_config())
    async with composition.running(settings, cluster) as app, serving_api(app.intake, intake):
        with stop_on_signal() as stop:
            await stop.wait()
