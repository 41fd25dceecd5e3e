"""`reenvio console` without a worker in the same process."""

import asyncio

from workers.app.cluster import find_cluster
from workers.app.composition import sealing
from workers.app.logs import configure_logs
from workers.cli.output import tell
from workers.config.settings import Settings, read_settings
from workers.console.serving import serve_console_alone


def serve() -> None:
    """Serve the console until SIGINT or SIGTERM."""
    settings = read_settings()
    configure_logs(settings.logs.level, settings.logs.format)
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    async with sealing(settings, find_cluster(settings)) as app:
        await serve_console_alone(app, lambda address: tell(f"CONSOLE: {address}", err=True))
