"""`reenvio claim submit | start | list | show | ...`: claims from the command line."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from bpmn.names import ReviewDecision
from domain.breaker import Candidate, Hold
from domain.claim_state import ClaimState
from persistence.repositories.claims import ClaimRow, Wanted
from persistence.store import Store
from workers.app.composition import App
from workers.claims.messages import unknown_claim
from workers.claims.protocols import Protocols, status_lines
from workers.cli.application import ClaimArgument, with_app, with_store
from workers.cli.decided import decided_facts, pending
from workers.cli.submit import read_file, submit
from workers.payers.admission import foreseen

claim_app = typer.Typer(help="Hand in, start, follow and steer claims.", no_args_is_help=True)
claim_app.command()(submit)
claim_app.command()(pending)
ProtocolOption = Annotated[
    str | None, typer.Option("--protocol", help="The number; default: the one a damaged answer names.")
]


@claim_app.command()
def start(claim: ClaimArgument, payer: Annotated[str, typer.Option(help="The payer's id.")]) -> None:
    """Start a claim without a file, for a practice payer; asking twice starts it once."""

    async def go(app: App) -> None:
        new = await app.messages.start(claim, payer)
        typer.echo(f"{claim} {'is on its way' if new else 'was started before; nothing to do'}.")

    with_app(go)


@claim_app.command("list")
def list_claims(
    state: Annotated[ClaimState | None, typer.Option(case_sensitive=False, help="Only these.")] = None,
    payer: Annotated[str | None, typer.Option(help="Only this payer's.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 100,
) -> None:
    """The newest claims that we send, and where they stand; retries of other processes too: `pending`."""

    async def go(store: Store) -> None:
        async with store.reading() as tx:
            claims = await tx.claims.newest(Wanted(state, payer), limit + 1)
        Console().print(
            _table(claims[:limit]) if claims else "No claims: hand one in with `reenvio claim submit`."
        )
        if len(claims) > limit:
            typer.echo(f"The newest {limit}; there are more: see --limit, --state, --payer.")

    with_store(go)


@claim_app.command()
def show(claim: ClaimArgument) -> None:
    """Where a claim stands, what was decided, and its story, event by event; whichever process sends it."""

    async def go(store: Store) -> None:
        async with store.reading() as tx:
            found = await tx.claims.find(claim.value)
            decisions = await tx.decisions.of_claims([claim.value])
            sends = await tx.attempts.counts([claim.value])
            story = await tx.journal.of_claim(claim.value)
        if not (found or decisions):
            raise unknown_claim(claim)
        facts = (_facts(found) if found else {}) | decided_facts(decisions, sends.get(claim.value))
        for name, value in facts.items():
            typer.echo(f"{name:10}{value}")
        for entry in story:
            typer.echo(f"{_time(entry.at)}  {entry.event:18}  {entry.detail}")

    with_store(go)


@claim_app.command()
def protocol(claim: ClaimArgument, number: ProtocolOption = None) -> None:
    """Ask the payer about the protocol of a claim that it has, and whether it is the claim's own."""

    async def go(app: App) -> None:
        told = await _protocols(app).ask(claim, number)
        for line in status_lines(told.situation):
            typer.echo(line)
        if told.is_news:
            told.require_own()
            found = f"PROTOCOL_RECOVERED --protocol {told.situation.protocol}"
            typer.echo(f"It is {claim}'s own batch: `reenvio claim review {claim} {found}` takes it over.")

    with_app(go, quiet=False)


@claim_app.command("retry-now")
def retry_now(claim: ClaimArgument) -> None:
    """Wake a waiting claim: it goes as soon as its payer takes it, and what is sent counts."""

    async def go(app: App) -> None:
        waiting = await app.messages.waiting(claim)
        prospect = await _prospect(app, waiting)
        new = await app.messages.wake(waiting)
        typer.echo(f"{claim} {prospect if new else 'was woken from this wait a moment ago'}.")

    with_app(go)


@claim_app.command()
def cancel(
    claim: ClaimArgument,
    although_sent: Annotated[
        bool, typer.Option("--although-sent", help="Even if the payer has it, or may have it.")
    ] = False,
) -> None:
    """Cancel a claim that waits for its time or for a person; this cannot be undone."""

    async def go(app: App) -> None:
        await app.messages.cancel(claim, although_sent=although_sent)
        typer.echo(f"{claim} is being cancelled.")

    with_app(go)


@claim_app.command()
def review(
    claim: ClaimArgument,
    decision: Annotated[ReviewDecision, typer.Argument(case_sensitive=False)],
    number: ProtocolOption = None,
    file: Annotated[Path | None, typer.Option(help="The corrected batch, for CORRECTED.")] = None,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Take the number as given: you have seen the receipt.")
    ] = False,
) -> None:
    """Decide a claim in review: resend, corrected, write off, or protocol recovered."""
    recovers = decision is ReviewDecision.PROTOCOL_RECOVERED
    if file and decision is not ReviewDecision.CORRECTED:
        raise typer.BadParameter("a file is for CORRECTED", param_hint="--file")
    if unchecked and not recovers:
        raise typer.BadParameter("this is for PROTOCOL_RECOVERED", param_hint="--unchecked")

    async def go(app: App) -> None:
        if file:
            await app.intake.correct(claim, read_file(file, app.intake.reader.terms.max_bytes))
        asks = recovers and not unchecked
        found = await _protocols(app).recovered(claim, number) if asks else number
        await app.messages.decide_review(claim, decision, protocol_number=found)
        typer.echo(f"{claim}: {decision} is told to the process.")

    with_app(go, quiet=not recovers)


def _protocols(app: App) -> Protocols:
    return Protocols(app.store, app.payer_limits, app.cipher, app.channels, app.clock)


async def _prospect(app: App, claim: ClaimRow) -> str:
    """What a claim that is woken now may hope for."""
    candidate, limits = Candidate(claim.claim_id, claim.payer_id), app.payer_limits.of(claim.payer_id)
    now = await app.clock.now()
    verdict = await app.store.look(lambda tx: foreseen(tx, candidate, limits, now))
    if isinstance(verdict, Hold):
        until = f"for payer {claim.payer_id} until {_time(verdict.resume_at)}"
        return f"is woken, but waits on {until}: {verdict.reason}"
    return "is sent again now"


def _table(claims: Sequence[ClaimRow]) -> Table:
    longest = max(len(claim.claim_id) for claim in claims)
    first = Column("claim", min_width=longest)  # an id that is cut short helps nobody
    table = Table(first, "payer", "state", "retries", "next send", "protocol", "reason")
    for claim in claims:
        table.add_row(*_cells(claim))
    return table


def _cells(claim: ClaimRow) -> tuple[str, ...]:
    due = _time(claim.next_retry_time) if claim.next_retry_time else ""
    number, reason = claim.protocol_number or "", claim.reason or ""
    return claim.claim_id, claim.payer_id, claim.state, str(claim.retry_count), due, number, reason


def _facts(claim: ClaimRow) -> dict[str, str]:
    facts = {
        "state": claim.state,
        "payer": claim.payer_id,
        "batch": claim.batch_number,
        "deadline": _time(claim.deadline) if claim.deadline else None,
        "next send": _time(claim.next_retry_time) if claim.next_retry_time else None,
        "protocol": claim.protocol_number,
    }
    return {name: value for name, value in facts.items() if value}


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
