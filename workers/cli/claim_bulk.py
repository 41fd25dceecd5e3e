"""`reenvio claim bulk`: the same done to many suspended claims, each at its payer's pace."""

import asyncio
from typing import Annotated

import typer

from domain.bulk_orders import BulkAction, BulkItemState, BulkState
from domain.catalog import Team
from persistence.repositories.bulk_orders import BulkOrder, BulkProgress
from persistence.repositories.review_desk import INCIDENT, DeskFilter
from workers.app.composition import App
from workers.app.reviewing import bulk_desk, bulk_runner
from workers.claims.bulk_desk import BulkPreview, BulkWish, Signer
from workers.cli.application import with_app
from workers.cli.operator import (
    FOR_GOOD,
    ByOption,
    ReasonOption,
    YesOption,
    asked,
    require_reason,
    shell_user,
)
from workers.cli.output import counted, tell

LOOK_SECONDS = 0.5
LOGIN_MOST = 64
DONE = {
    BulkAction.RESEND: "to be sent again",
    BulkAction.CORRECTED: "to be sent again, as corrected",
    BulkAction.WRITE_OFF: f"to be written off. {FOR_GOOD}",
    BulkAction.RESOLVE: "to go on, each from its stuck task",
}
WAITS = "It waits for a second person: see its page in the console."


def bulk(
    action: Annotated[BulkAction, typer.Argument(case_sensitive=False)],
    payer: Annotated[str | None, typer.Option(help="Only claims to this payer.")] = None,
    team: Annotated[Team | None, typer.Option(help="Only those that wait for this team.")] = None,
    cause: Annotated[
        str | None, typer.Option(help="Only those in review for this, as `claim list` says.")
    ] = None,
    category: Annotated[str | None, typer.Option(help="Only refusals of this category.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show how many, and until when.")] = False,
    reason: ReasonOption = None,
    by: ByOption = None,
    yes: YesOption = False,
) -> None:
    """Do the same to all claims in review, or on an incident, that fit: paced, and on record one by one."""
    cause = INCIDENT if action is BulkAction.RESOLVE else cause
    wanted = DeskFilter(team, cause, category, payer_id=payer)
    if not dry_run:
        require_reason(reason)

    async def go(app: App) -> None:
        preview = await bulk_desk(app).preview(action, wanted)
        if dry_run or not preview.number:
            tell(_told(preview))
            return
        signer = Signer(shell_user()[:LOGIN_MOST], asked(_told(preview), reason, by, yes=yes))
        by_two = action is BulkAction.WRITE_OFF and app.settings.console.write_off_by_two
        placed = await bulk_desk(app).place(
            BulkWish(action, wanted, "/reviews", preview.mark, by_two), signer
        )
        if isinstance(placed, BulkPreview):
            tell(f"The claims have changed meanwhile, nothing was done. Now: {_told(placed)}", err=True)
            raise typer.Exit(1)
        tell(f"Order {placed} is kept. {WAITS}" if by_two else f"Order {placed} is kept, and begins.")
        if not by_two:
            await _carry_out(app, placed)

    with_app(go)


def _told(preview: BulkPreview) -> str:
    left = f" {preview.left_out} stay as they are: their payer has or may have them, or refuses our access, "
    also = f"{left}or another order is about them." if preview.left_out else ""
    ends = preview.ends.isoformat(timespec="seconds")
    when = f" The last one's turn is at {ends}." if preview.action.sends_again and preview.number else ""
    return f"{counted(preview.number, 'claim')} {DONE[preview.action]}.{when}{also}"


async def _carry_out(app: App, bulk_id: int) -> None:
    """Until it is over; cut short, it is carried on by whoever serves the console."""
    runner = bulk_runner(app)
    while True:
        if not await runner.step():
            await asyncio.sleep(LOOK_SECONDS)
        order = await app.store.look(lambda tx: tx.bulk_orders.find(bulk_id))
        if order is None or order.state is not BulkState.RUNNING:
            break
    progress = await app.store.look(lambda tx: tx.bulk_orders.progress(bulk_id))
    tell(_ended(order, progress))


def _ended(order: BulkOrder | None, progress: BulkProgress) -> str:
    went = progress.of(BulkItemState.DONE, BulkItemState.UNCONFIRMED)
    why = ", ".join(f"{name} {number}" for name, number in progress.not_done.items())
    state = order.state.value if order else "gone"
    return f"{state}: {went} went on, {sum(progress.not_done.values())} did not{f' ({why})' if why else ''}."
