"""What commands share that need the database and the engine."""

import asyncio
from collections.abc import Awaitable, Callable

from workers.app import composition
from workers.app.composition import App, engine_config, find_cluster
from workers.app.logs import configure_logs
from workers.config.engine import read_zeebe_settings
from workers.config.settings import read_settings


def with_app(go: Callable[[App], Awaitable[None]], *, quiet: bool = True) -> None:
    """Run a command on the open application; a quiet one logs errors only."""
    settings = read_settings()
    configure_logs("error" if quiet else settings.log_level, settings.log_format)

    async def within() -> None:
        async with composition.running(settings, find_cluster(read_zeebe_settings(), engine_config())) as app:
            await go(app)

    asyncio.run(within())
