"""What commands share: the open application, or the database alone."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated

import typer

from domain.claim import CLAIM_ID_SHAPE, ClaimId, ClaimIdForm
from persistence.database.trouble import reachable
from persistence.store import Store
from workers.app.cluster import find_cluster
from workers.app.composition import App, Opening, sealing
from workers.app.databases import opened_store, opened_trail
from workers.app.logs import configure_logs
from workers.cli.errors import ReaderGone
from workers.config.settings import Settings, read_settings

OnStore = Callable[[Store], Awaitable[None]]


def _claim_id(text: str) -> ClaimId:
    try:
        return ClaimId(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; for example CLM-001-1234567890") from error


def _decided_claim_id(text: str) -> ClaimId:
    return ClaimId(text, ClaimIdForm.REFERENCE) if ClaimIdForm.REFERENCE.fits(text) else _claim_id(text)


ClaimArgument = Annotated[ClaimId, typer.Argument(parser=_claim_id, metavar=CLAIM_ID_SHAPE)]
DecidedClaimArgument = Annotated[ClaimId, typer.Argument(parser=_decided_claim_id, metavar=CLAIM_ID_SHAPE)]
"""A claim that may be of another process: its id may have the form of a reference."""
OptionalDecidedClaim = Annotated[
    ClaimId | None, typer.Argument(parser=_decided_claim_id, metavar=f"[{CLAIM_ID_SHAPE}]")
]
OptionalClaim = Annotated[ClaimId | None, typer.Argument(parser=_claim_id, metavar=f"[{CLAIM_ID_SHAPE}]")]


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
                await _until_unread(go, store)

    asyncio.run(within())


async def _until_unread(go: OnStore, store: Store) -> None:
    """A reader that is gone must not pass for a database that is."""
    try:
        await go(store)
    except BrokenPipeError as error:
        raise ReaderGone from error
