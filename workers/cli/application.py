"""Commands that need the engine: they run on the open application."""

import asyncio
from collections.abc import Awaitable, Callable

from workers.app.cluster import find_cluster
from workers.app.composition import App, Opening, sealing
from workers.app.logs import configure_logs
from workers.config.settings import read_settings


def with_app(go: Callable[[App], Awaitable[None]], *, quiet: bool = True, opened: Opening = sealing) -> None:
    """Run a command on the application, as it is `opened`; a quiet one logs errors only.

    One that writes nothing to the audit trail may have it opened as `running`, which asks for no key.
    """
    settings = read_settings()
    configure_logs("error" if quiet else settings.logs.level, settings.logs.format)

    async def within() -> None:
        async with opened(settings, find_cluster(settings)) as app:
            await go(app)

    asyncio.run(within())
