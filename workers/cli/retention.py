"""`reenvio retention run | hold | release | holds | unlock`: what is kept, and what must be kept."""

from collections.abc import Mapping
from typing import Annotated, NoReturn

import typer

from domain.operators import Attribution
from persistence.repositories.legal_holds import LegalHold
from persistence.store import Store
from workers.app.cluster import clock_check, clock_here
from workers.app.databases import opened_for_retention
from workers.claims.holding import held_claim, hold_claim, release_claim
from workers.claims.ordering import Subject, ordered
from workers.cli.claim_arguments import DecidedClaimArgument
from workers.cli.database import with_store, with_trail
from workers.cli.operator import FOR_GOOD, ByOption, ReasonOption, YesOption, require_yes, signed
from workers.cli.output import counted, tell
from workers.config.settings import read_settings
from workers.upkeep.retention import apply, preview, set_due_anchors

REFUSED = 1
retention_app = typer.Typer(
    help="Remove what is past its period; hold what must stay.", no_args_is_help=True, add_completion=False
)


@retention_app.command()
def run(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    reason: ReasonOption = None,
    by: ByOption = None,
    yes: YesOption = False,
) -> None:
    """Do now what the daily maintenance process does."""
    settings = read_settings()
    periods = settings.retention.periods()
    given = Attribution("", "") if dry_run else signed(reason, by)

    async def go(store: Store) -> None:
        clock = clock_here(settings, store)
        now = await clock.now()
        counts = await preview(store, periods, now)
        if dry_run:
            _report(counts, "would be removed")
            return
        await clock_check(settings, store, clock).agreed()
        require_yes(f"{_goes(sum(counts.values()))} {FOR_GOOD}", yes=yes)
        async with (
            ordered(store, "retention run", Subject(), given, now),
            opened_for_retention(settings, store) as remover,
        ):
            await set_due_anchors(store, now)
            _report(await apply(remover, periods, now), "removed")

    (with_store if dry_run else with_trail)(go, settings)


@retention_app.command()
def hold(claim: DecidedClaimArgument, reason: ReasonOption = None, by: ByOption = None) -> None:
    """Legal hold: nothing of this claim is removed until it is released. A reason may be a case number."""
    given = signed(reason, by)

    async def go(store: Store) -> None:
        new = await hold_claim(store, claim, given, await store.time())
        tell(f"{claim} is {'now' if new else 'already'} on hold.")

    with_trail(go)


@retention_app.command()
def release(
    claim: DecidedClaimArgument, reason: ReasonOption = None, by: ByOption = None, yes: YesOption = False
) -> None:
    """End a claim's legal hold; what is past its period goes with the next run."""
    given = signed(reason, by)

    async def go(store: Store) -> None:
        placed = await held_claim(store, claim)
        require_yes(f"{_held(placed)}: what of it is past its period goes with the next run.", yes=yes)
        await release_claim(store, claim, given, await store.time())
        tell(f"{claim} is released.")

    with_trail(go)


@retention_app.command()
def holds() -> None:
    """Every claim on hold, and why."""

    async def go(store: Store) -> None:
        async with store.reading() as tx:
            for placed in await tx.holds.all():
                tell(_held(placed))

    with_store(go)


@retention_app.command()
def unlock(
    instance: Annotated[int, typer.Argument(help="The process instance's key, as Operate shows it.")],
    reason: ReasonOption = None,
    by: ByOption = None,
) -> None:
    """Forget failed operations of a process instance, so that they may start again."""
    given = signed(reason, by)

    async def go(store: Store) -> None:
        now = await store.time()
        async with ordered(store, f"unlock {instance}", Subject(), given, now):
            forgotten = await store.run(lambda tx: tx.idempotency.forget_failed(str(instance), now=now))
        if not forgotten:
            _refuse(f"No operation of instance {instance} has failed for good: nothing to unlock.")
        told = counted(forgotten, "operation")
        tell(f"{told} of instance {instance} may start again: retry it in Operate.")

    with_trail(go)


def _report(numbers: Mapping[str, int], verb: str) -> None:
    for name, number in numbers.items():
        tell(f"{number:>10}  {name} {verb}")


def _goes(number: int) -> str:
    return f"Of records past their period, {number} to be removed."


def _held(placed: LegalHold) -> str:
    who = f" (by {placed.placed_by})" if placed.placed_by else ""
    return f"{placed.claim_id}  {placed.placed_at:%Y-%m-%d}  {placed.reason}{who}"


def _refuse(why: str) -> NoReturn:
    tell(why, err=True)
    raise typer.Exit(REFUSED)
