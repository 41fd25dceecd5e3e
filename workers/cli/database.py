"""What commands share that need the database and no engine."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from domain.claim import CLAIM_ID_SHAPE, ClaimId
from persistence.database.engine import open_database
from persistence.database.trouble import reachable
from persistence.store import Store
from workers.app.logs import configure_logs
from workers.app.schema import require_current
from workers.cli.errors import ReaderGone
from workers.config.settings import Settings, read_settings


def _claim_id(text: str) -> ClaimId:
    try:
        return ClaimId(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; for example CLM-001-1234567890") from error


ClaimArgument = Annotated[ClaimId, typer.Argument(parser=_claim_id, metavar=CLAIM_ID_SHAPE)]


def with_store(go: Callable[[Store], Awaitable[None]]) -> None:
    """Run a command on the configured database; its schema must not be older than this version."""
    settings = read_settings()
    configure_logs(settings.log_level, settings.log_format)
    asyncio.run(_within(settings, go))


async def _within(settings: Settings, go: Callable[[Store], Awaitable[None]]) -> None:
    database = open_database(settings.database)
    try:
        await require_current(database)
        with reachable():
            await _told(go, Store(database))
    finally:
        await database.dispose()


async def _told(go: Callable[[Store], Awaitable[None]], store: Store) -> None:
    """A reader that is gone must not pass for a database that is."""
    try:
        await go(store)
    except BrokenPipeError as error:
        raise ReaderGone from error
