"""`reenvio claim start | retry-now | cancel | resolve`: what people ask of a claim, and what came of it."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from bpmn.names import Variable
from domain.claim_state import ClaimState
from domain.errors import Trouble
from domain.operators import Attribution
from domain.redaction import redact
from domain.refusals import ClaimRefusal
from persistence.repositories.claims import ClaimRow, Wanted
from workers.app.composition import App, running, sealing
from workers.claims.claim_ids import given_claim_id
from workers.claims.confirmation import confirmed
from workers.claims.finding import find_claim
from workers.claims.incidents import StuckClaims
from workers.claims.ordering import Subject, ordered
from workers.claims.steering import ClaimSteering
from workers.cli.application import with_app
from workers.cli.claim_arguments import ClaimArgument, OptionalClaim
from workers.cli.operator import FOR_GOOD, ByOption, ReasonOption, YesOption, asked, require_reason, signed
from workers.cli.output import counted, tell
from workers.config.settings import read_settings
from workers.payers.practice import given_payer_id, require_practice
from workers.payers.waking import KEEP as KEEP_WAKE_UP

CORRECTABLE = (Variable.DEADLINE, Variable.RETRY_COUNT, Variable.LAST_SUBMISSION_TIME)
AT_MOST = 10_000


def start(claim: ClaimArgument, payer: Annotated[str, typer.Option(help="The payer's id.")]) -> None:
    """Start a claim without a file, for a practice payer; asking twice starts it once."""
    given_claim_id(claim.value)  # or it is refused, as an id that comes with a file is
    require_practice(read_settings(), given_payer_id(payer))

    async def go(app: App) -> None:
        new = await app.messages.start(claim, payer)
        tell(f"{claim} {'is on its way' if new else 'was started before; nothing to do'}.")

    with_app(go, opened=running)


def retry_now(claim: ClaimArgument) -> None:
    """Wake a waiting claim: it goes as soon as its payer takes it, and what is sent counts."""

    async def go(app: App) -> None:
        waiting = await app.messages.waiting(claim)
        await app.messages.wake(waiting)
        tell(woken(waiting, await confirmed(app.store, waiting, kept=KEEP_WAKE_UP)))

    with_app(go, opened=running)


def cancel(
    claim: ClaimArgument,
    although_sent: Annotated[
        bool, typer.Option("--although-sent", help="Even if the payer has it, or may have it.")
    ] = False,
    reason: ReasonOption = None,
    by: ByOption = None,
    yes: YesOption = False,
) -> None:
    """Cancel a claim that waits for its time or for a person, or stands on an incident; cannot be undone."""
    require_reason(reason)

    async def go(app: App) -> None:
        steering = ClaimSteering(app.store, app.commands, app.clock)
        found = await steering.cancellable(claim, although_sent=although_sent)
        meant = f"{described(found)} Its process ends and it is not sent again. {FOR_GOOD}"
        await steering.cancel(found, asked(meant, reason, by, yes=yes), although_sent=although_sent)
        tell(f"{claim} is cancelled.")

    with_app(go)


def described(claim: ClaimRow) -> str:
    """Which claim an order is about, and where it stands, for people to compare."""
    batch = f", batch {claim.batch_number}" if claim.batch_number else ""
    why = f" ({claim.reason})" if claim.reason else ""
    return f"{claim.claim_id} to payer {claim.payer_id}{batch} is {claim.state}{why}."


def resolve(
    claim: OptionalClaim = None,
    payer: Annotated[str | None, typer.Option(help="All claims to this payer that stand on one.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show which.")] = False,
    corrections: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help=f"Correct {', '.join(CORRECTABLE)} first."),
    ] = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    yes: YesOption = False,
) -> None:
    """Let a claim that stands on an incident go on: its stuck task begins again, once the cause is mended."""
    if (claim is None) == (payer is None):
        raise typer.BadParameter("name one claim, or all of one payer with --payer")
    if corrections and claim is None:
        raise typer.BadParameter("a correction is for one claim", param_hint="--set")
    corrected = dict(_correction(text) for text in corrections or ())
    if not dry_run:
        require_reason(reason)

    async def go(app: App) -> None:
        chosen = [await find_claim(app.store, claim)] if claim else await _stuck_at(app, payer)
        if dry_run:
            tell("\n".join(map(_line, chosen)) or "No claim stands on an incident.")
        elif claim:
            await StuckClaims(app.store, app.commands).resolvable(chosen[0])
            await _resolve_one(app, chosen[0], corrected, signed(reason, by))
        else:
            what = f"To payer {payer}: {counted(len(chosen), 'claim')} to go on, each from its stuck task."
            await _resolve_all(app, chosen, asked(what, reason, by, yes=yes))

    with_app(go, opened=running if dry_run else sealing)


async def _stuck_at(app: App, payer: str | None) -> Sequence[ClaimRow]:
    wanted = Wanted(payer_id=payer, with_incident=True)
    return await app.store.look(lambda tx: tx.claims.newest(wanted, AT_MOST))


async def _resolve_one(
    app: App, claim: ClaimRow, corrected: Mapping[str, object], given: Attribution
) -> None:
    now = await app.clock.now()
    async with ordered(app.store, "resolve", Subject(claim.claim_id), given, now) as order_id:
        await StuckClaims(app.store, app.commands).resolve(claim, now, corrected, order_id=order_id)
    tell(f"{claim.claim_id} goes on: the engine has begun its task again.")


async def _resolve_all(app: App, claims: Sequence[ClaimRow], given: Attribution) -> None:
    """What one claim is refused, the others are not."""
    refused = 0
    for claim in claims:
        try:
            await _resolve_one(app, claim, {}, given)
        except ClaimRefusal as refusal:
            refused += 1
            tell(str(refusal), err=True)
    tell(f"{len(claims) - refused} of {counted(len(claims), 'claim')} resolved.")
    if refused:
        raise typer.Exit(Trouble.exit_code)


def woken(before: ClaimRow, claim: ClaimRow) -> str:
    """What came of a wake-up, by the claim's record before and after it."""
    if claim.state is ClaimState.WAITING and claim.next_retry_time:
        until = claim.next_retry_time.isoformat(timespec="seconds")
        if claim.retry_count > before.retry_count:
            return f"{claim.claim_id} was sent and failed: {claim.reason}, at {until}."
        held = f"is woken, but waits on for payer {claim.payer_id} until {until} at the latest"
        return f"{claim.claim_id} {held}: {claim.reason}."
    return f"{claim.claim_id} was woken; it is {claim.state} now."


def _line(claim: ClaimRow) -> str:
    stuck = claim.incident
    since = f"since {stuck.since.isoformat(timespec='seconds')}: {stuck.message}" if stuck else "no incident"
    return f"{claim.claim_id}  {claim.state}  {since}"


def _correction(text: str) -> tuple[str, object]:
    """One variable that a person corrects; its value is never repeated, it may be anything."""
    name, _, value = text.partition("=")
    if name not in CORRECTABLE:
        allowed = ", ".join(CORRECTABLE)
        raise typer.BadParameter(f"NAME=VALUE with one of {allowed}", param_hint="--set")
    if value == "null":
        return name, None
    if name == Variable.RETRY_COUNT:
        return name, _count(value)
    if redact(value) != value or len(value) > 40:
        raise typer.BadParameter(f"{name} is a moment such as 2026-01-15T18:00:00-03:00", param_hint="--set")
    return name, value


def _count(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= 4):
        raise typer.BadParameter(f"{Variable.RETRY_COUNT} is a whole number from 0", param_hint="--set")
    return int(value)
