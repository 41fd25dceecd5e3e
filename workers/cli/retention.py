"""`reenvio retention run | hold | release | holds | unlock`: what is kept, and what must be kept."""

from collections.abc import Mapping
from typing import Annotated

import typer

from persistence.repositories.legal_holds import LegalHold
from persistence.store import Store
from workers.app.composition import clock_check, opened_for_retention, shared_clock
from workers.cli.application import DecidedClaimArgument, with_store
from workers.config.settings import read_settings
from workers.upkeep.retention import apply, preview, set_due_anchors

REFUSED = 1
retention_app = typer.Typer(help="Remove what is past its period; hold what must stay.", no_args_is_help=True)


@retention_app.command()
def run(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
) -> None:
    """Do now what the daily maintenance process does."""
    settings = read_settings()
    periods = settings.retention.periods()

    async def go(store: Store) -> None:
        clock = shared_clock(settings, store)
        now = await clock.now()
        if dry_run:
            _report(await preview(store, periods, now), "would be removed")
            return
        await clock_check(settings, clock).agreed()
        await set_due_anchors(store, now)
        async with opened_for_retention(settings, store) as remover:
            _report(await apply(remover, periods, now), "removed")

    with_store(go, settings)


@retention_app.command()
def hold(
    claim: DecidedClaimArgument, reason: Annotated[str, typer.Option(help="Why, for example a case number.")]
) -> None:
    """Legal hold: nothing of this claim is removed until it is released."""

    async def go(store: Store) -> None:
        placed = LegalHold(claim.value, reason, await store.time())
        new = await store.run(lambda tx: tx.holds.place(placed))
        typer.echo(f"{claim} is {'now' if new else 'already'} on hold.")

    with_store(go)


@retention_app.command()
def release(claim: DecidedClaimArgument) -> None:
    """End a claim's legal hold; what is past its period goes with the next run."""

    async def go(store: Store) -> None:
        now = await store.time()
        if not await store.run(lambda tx: tx.holds.release(claim.value, now=now)):
            _refuse(f"{claim} is not on hold: see `reenvio retention holds`.")
        typer.echo(f"{claim} is released.")

    with_store(go)


@retention_app.command()
def holds() -> None:
    """Every claim on hold, and why."""

    async def go(store: Store) -> None:
        async with store.reading() as tx:
            for placed in await tx.holds.all():
                typer.echo(f"{placed.claim_id}  {placed.placed_at:%Y-%m-%d}  {placed.reason}")

    with_store(go)


@retention_app.command()
def unlock(
    instance: Annotated[int, typer.Argument(help="The process instance's key, as Operate shows it.")],
) -> None:
    """Forget failed operations of a process instance, so that they may start again."""

    async def go(store: Store) -> None:
        now = await store.time()
        forgotten = await store.run(lambda tx: tx.idempotency.forget_failed(str(instance), now=now))
        if not forgotten:
            _refuse(f"No operation of instance {instance} has failed for good: nothing to unlock.")
        typer.echo(f"{forgotten} operations of instance {instance} may start again: retry it in Operate.")

    with_store(go)


def _report(numbers: Mapping[str, int], verb: str) -> None:
    for name, number in numbers.items():
        typer.echo(f"{number:>10}  {name} {verb}")


def _refuse(why: str) -> None:
    typer.echo(why, err=True)
    raise typer.Exit(REFUSED)
