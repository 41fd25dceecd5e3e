"""`reenvio claim deadline`: until when a claim must be with its payer, changed and set back."""

from typing import Annotated

import typer

from domain.deadline_changes import said
from workers.app.composition import App
from workers.claims.deadlines import ChangedDeadline, ClaimDeadlines
from workers.cli.application import with_app
from workers.cli.claim_arguments import ClaimArgument
from workers.cli.operator import ByOption, ReasonOption, signed
from workers.cli.output import tell


def deadline(
    claim: ClaimArgument,
    to: Annotated[
        str, typer.Option(help="A moment such as 2026-01-15T18:00, a duration such as 48h, or none.")
    ],
    reason: ReasonOption = None,
    by: ByOption = None,
) -> None:
    """Change until when a claim must be with its payer: its process decides by it from its next decision."""
    given = signed(reason, by)

    async def go(app: App) -> None:
        deadlines = ClaimDeadlines(app.store, app.commands, app.clock, app.policy.current)
        for line in _lines(await deadlines.change(claim, to, given)):
            tell(line)

    with_app(go)


def _lines(changed: ChangedDeadline) -> list[str]:
    claim_id, change = changed.claim.claim_id, changed.change
    back = f"Set it back with `reenvio claim deadline {claim_id} --to {said(change.before)} --reason ...`."
    woken = ["Its wait reached into the time that is kept for a person: it was woken, and goes now."]
    first = f"{claim_id} is due {said(change.after)}; it was {said(change.before)}. {back}"
    return [first, *(woken if changed.is_woken else [])]
