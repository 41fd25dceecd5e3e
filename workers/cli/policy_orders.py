"""`reenvio policy adopt | undo | history`: which policy is in force, for every process."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from domain.outputs import iso_time
from domain.policy import Policy
from persistence.repositories.adopted_policies import KeptAdoption
from persistence.store import Store
from workers.app.cluster import clock_here
from workers.cli.database import with_store, with_trail
from workers.cli.operator import ByOption, ReasonOption, YesOption, asked
from workers.cli.output import tell
from workers.cli.policy import EXIT_REJECTED, one_line_errors
from workers.cli.tables import print_table
from workers.config.settings import Settings, read_settings
from workers.policy import PolicySource
from workers.policy.file import policy_text
from workers.policy.tools.diff import diff
from workers.policy.tools.lint import lint
from workers.policy.tools.terminal import advice_list, change_table
from workers.upkeep.policy_desk import AdoptionRefused, InForce, PolicyDesk

SOON = "Every process follows within 5 seconds; see `policy_in_force` in their logs."
FilePath = Annotated[Path, typer.Argument(help="The policy file.")]


def adopt(file: FilePath, reason: ReasonOption = None, by: ByOption = None, yes: YesOption = False) -> None:
    """Bring a policy into force in every process, on record with who and why.

    Shows what changes and what is unwise, then asks. A file that is not valid, or whose version stands for
    another policy, is refused. Try it first: `reenvio policy what-if FILE`.
    """
    settings = read_settings()

    async def go(desk: PolicyDesk) -> None:
        found, text = await desk.in_force(), policy_text(file)
        policy = await desk.checked(text)
        _preview(found, policy, settings)
        given = asked(f"{policy.label} will replace {_told(found)}.", reason, by, yes=yes)
        number = await desk.adopt(text, given, seen=found.mark)
        tell(f"Policy {policy.label} is in force (adoption {number}). {SOON}")

    _at_desk(go, settings)


def undo(reason: ReasonOption = None, by: ByOption = None, yes: YesOption = False) -> None:
    """Bring the policy before back into force.

    After the first adoption that is the settings' own: POLICY_FILE's or the packaged one.
    """
    settings = read_settings()

    async def go(desk: PolicyDesk) -> None:
        found, before = await desk.in_force(), await desk.before()
        if before is None:
            raise AdoptionRefused("nothing_before", "No policy was adopted that could be taken back.")
        _preview(found, before[0], settings)
        given = asked(f"{before[0].label} will come back for {_told(found)}.", reason, by, yes=yes)
        await desk.undo(given, seen=found.mark)
        tell(f"Policy {before[0].label} is in force again. {SOON}")

    _at_desk(go, settings)


def history() -> None:
    """Which policy is in force, and who adopted what, when and why."""
    settings = read_settings()

    async def go(store: Store) -> None:
        desk = _desk(store, settings)
        found, adoptions = await desk.in_force(), await desk.history()
        if found.trouble:
            tell(found.trouble, err=True)
        tell(f"In force: {_told(found)}.")
        if adoptions:
            print_table(("number", "when", "what", "policy", "who", "reason"), list(map(_row, adoptions)))

    with one_line_errors():
        with_store(go, settings)


def _row(one: KeptAdoption) -> tuple[str, ...]:
    label = one.policy or "the settings' own"
    return str(one.adoption_id), iso_time(one.at), one.kind.lower(), label, one.ordered_by, one.reason


def _told(found: InForce) -> str:
    if found.trouble:
        return f"adoption {found.adoption.adoption_id if found.adoption else 0}, which cannot be used"
    number = f" {found.adoption.adoption_id}" if found.adoption and found.origin == "adopted" else ""
    return f"{found.policy.label} ({found.origin}{number})"


def _preview(found: InForce, policy: Policy, settings: Settings) -> None:
    console = Console(stderr=True)
    if changes := diff(found.policy, policy):
        console.print(change_table(changes))
    if advice := lint(policy, settings.idempotency):
        console.print(advice_list(advice))


def _desk(store: Store, settings: Settings) -> PolicyDesk:
    return PolicyDesk(store, PolicySource(settings.policy_file), clock_here(settings, store))


def _at_desk(go: Callable[[PolicyDesk], Awaitable[None]], settings: Settings) -> None:
    async def within(store: Store) -> None:
        await go(_desk(store, settings))

    with one_line_errors():
        try:
            with_trail(within, settings)
        except AdoptionRefused as refused:
            tell(f"Refused: {refused}", err=True)
            raise typer.Exit(EXIT_REJECTED) from None
