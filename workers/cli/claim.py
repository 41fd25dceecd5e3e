"""`reenvio claim start | list | show | retry-now | cancel | review`: claims from the command line."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bpmn.names import ReviewDecision
from domain.claim import ClaimId
from persistence.claims import ClaimRow
from workers import bootstrap
from workers.bootstrap import App, engine_config, find_cluster
from workers.claims import ClaimDesk
from workers.cli.database import ClaimArgument
from workers.engine_settings import read_zeebe_settings
from workers.logs import configure_logs
from workers.settings import read_settings

claim_app = typer.Typer(help="Start, follow and steer claims.", no_args_is_help=True)


@claim_app.command()
def start(claim: ClaimArgument, payer: Annotated[str, typer.Option(help="The payer's id.")]) -> None:
    """Start a claim's process; asking twice starts it once."""

    async def go(app: App) -> None:
        new = await app.desk.start(claim, payer)
        typer.echo(f"{claim} {'is on its way' if new else 'was started before; nothing to do'}.")

    _with_app(go)


@claim_app.command("list")
def list_claims() -> None:
    """Every claim and where it stands."""

    async def go(app: App) -> None:
        async with app.store.transaction() as tx:
            claims = await tx.claims.all()
        table = Table("claim", "payer", "state", "retries", "next send", "protocol", "reason")
        for claim in claims:
            table.add_row(*_cells(claim))
        Console().print(table if claims else "No claims yet: start one with `reenvio claim start`.")

    _with_app(go)


@claim_app.command()
def show(claim: ClaimArgument) -> None:
    """A claim's story, event by event."""

    async def go(app: App) -> None:
        await app.desk.find(claim)
        async with app.store.transaction() as tx:
            story = await tx.journal.of_claim(claim.value)
        for entry in story:
            typer.echo(f"{entry.at.isoformat(timespec='seconds')}  {entry.event:18}  {entry.detail}")

    _with_app(go)


@claim_app.command("retry-now")
def retry_now(claim: ClaimArgument) -> None:
    """Wake a waiting claim: it is sent at once, and the attempt counts."""
    _tell(claim, "is sent again now", ClaimDesk.retry_now)


@claim_app.command()
def cancel(claim: ClaimArgument) -> None:
    """Cancel a claim that waits for its time or for a person; this cannot be undone."""
    _tell(claim, "is being cancelled", ClaimDesk.cancel)


@claim_app.command()
def review(
    claim: ClaimArgument,
    decision: Annotated[ReviewDecision, typer.Argument(case_sensitive=False)],
    protocol: Annotated[str | None, typer.Option(help="The number, for PROTOCOL_RECOVERED.")] = None,
) -> None:
    """Decide a claim in review: resend, corrected, write off, or protocol recovered."""

    async def go(app: App) -> None:
        await app.desk.decide_review(claim, decision, protocol_number=protocol)
        typer.echo(f"{claim}: {decision} is told to the process.")

    _with_app(go)


def _tell(claim: ClaimId, done: str, wish: Callable[[ClaimDesk, ClaimId], Awaitable[None]]) -> None:
    async def go(app: App) -> None:
        await wish(app.desk, claim)
        typer.echo(f"{claim} {done}.")

    _with_app(go)


def _cells(claim: ClaimRow) -> tuple[str, ...]:
    due = claim.next_retry_time.isoformat(timespec="seconds") if claim.next_retry_time else ""
    protocol, reason = claim.protocol_number or "", claim.reason or ""
    return claim.claim_id, claim.payer_id, claim.state, str(claim.retry_count), due, protocol, reason


def _with_app(go: Callable[[App], Awaitable[None]]) -> None:
    settings = read_settings()
    configure_logs("error", settings.log_format)

    async def within() -> None:
        async with bootstrap.running(settings, find_cluster(read_zeebe_settings(), engine_config())) as app:
            await go(app)

    asyncio.run(within())
