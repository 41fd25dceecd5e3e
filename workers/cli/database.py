"""Commands that need the database alone: no engine is asked, and nothing of it is imported."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from persistence.database.trouble import reachable
from persistence.store import Store
from workers.app.databases import opened_store, opened_trail
from workers.app.logs import configure_logs
from workers.config.settings import Settings, read_settings

OnStore = Callable[[Store], Awaitable[None]]


def with_store(go: OnStore, settings: Settings | None = None) -> None:
    """Run a command that writes no audit event on the configured database, without an engine."""
    chosen = settings or read_settings()
    _run(go, chosen, opened_store(chosen))


def with_trail(go: OnStore, settings: Settings | None = None) -> None:
    """The same for a command that writes the audit trail: not without the key that seals it."""
    chosen = settings or read_settings()
    _run(go, chosen, opened_trail(chosen))


def _run(go: OnStore, settings: Settings, opening: AbstractAsyncContextManager[Store]) -> None:
    configure_logs(settings.logs.level, settings.logs.format)

    async def within() -> None:
        async with opening as store:
            with reachable():
                await go(store)

    asyncio.run(within())
