"""`reenvio api`: claims over HTTP, without a worker in the same process."""

import asyncio

from workers import bootstrap
from workers.api import serving_api
from workers.bootstrap import engine_config, find_cluster
from workers.engine_settings import read_zeebe_settings
from workers.intake_settings import read_intake_settings
from workers.logs import configure_logs
from workers.serving import stop_on_signal
from workers.settings import Settings, SettingsError, read_settings


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
    async with bootstrap.running(settings, cluster) as app, serving_api(app.intake, intake):
        with stop_on_signal() as stop:
            await stop.wait()
