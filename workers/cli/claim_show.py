"""`reenvio claim list | show`: where claims stand, and their stories."""

from datetime import datetime
from typing import Annotated

import typer

from bpmn.names import ReviewReason
from domain.claim_state import ClaimState
from domain.practice import shown_protocol
from domain.reviews import AtPayer, allowed
from domain.standing import StandingKind, Standstill
from persistence.repositories.claims import ClaimRow, Wanted
from persistence.repositories.decisions import DecidedError
from persistence.store import Store
from workers.claims.finding import only_rejected, unknown_claim, whether_at_payer
from workers.cli.claim_arguments import DecidedClaimArgument
from workers.cli.database import with_store
from workers.cli.decided import decided_facts, foreign_review
from workers.cli.output import tell
from workers.cli.tables import print_table

COLUMNS = ("claim", "payer", "state", "retries", "next send", "protocol", "reason", "team")
NO_INCIDENTS = (
    "No claim that we send stands on an incident; incidents of other processes: Operate, or the workers' log."
)
ARRIVAL = {
    AtPayer.YES: "the payer has it; its protocol is missing",
    AtPayer.MAYBE: "may have arrived: the answer to a send was lost",
}


def list_claims(
    state: Annotated[ClaimState | None, typer.Option(case_sensitive=False, help="Only these.")] = None,
    payer: Annotated[str | None, typer.Option(help="Only this payer's.")] = None,
    incidents: Annotated[bool, typer.Option("--incidents", help="Only those that stand on one.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 100,
) -> None:
    """The newest claims that we send, and where they stand; retries of other processes too: `pending`."""

    async def go(store: Store) -> None:
        async with store.reading() as tx:
            claims = await tx.claims.newest(Wanted(state, payer, incidents), limit + 1)
            in_review = [claim.claim_id for claim in claims if claim.state is ClaimState.IN_REVIEW]
            teams = await tx.reviews.teams(in_review)
            errors = await tx.decisions.latest_errors([claim.claim_id for claim in claims])
            still = await tx.standstills.of_claims([claim.claim_id for claim in claims])
        if not claims:
            tell(NO_INCIDENTS if incidents else "No claims: hand one in with `reenvio claim submit`.")
            return
        rows = [
            (
                *_cells(claim, errors.get(claim.claim_id), still.get(claim.claim_id)),
                teams.get(claim.claim_id, ""),
            )
            for claim in claims[:limit]
        ]
        print_table(COLUMNS, rows)
        if len(claims) > limit:
            tell(f"The newest {limit}; there are more: see --limit, --state, --payer.")

    with_store(go)


def show(claim: DecidedClaimArgument) -> None:
    """Where a claim stands, what was decided, and its story, event by event; whichever process sends it."""

    async def go(store: Store) -> None:
        async with store.reading() as tx:
            found = await tx.claims.find(claim.value)
            decisions = await tx.decisions.of_claims([claim.value])
            sends = await tx.attempts.counts([claim.value])
            story = await tx.journal.of_claim(claim.value)
            reviews = await tx.reviews.of_claim(claim.value)
            where = await whether_at_payer(tx, claim.value)
            texts = await tx.free_texts.count(claim.value)
            still = await tx.standstills.of_claims([claim.value])
            if not (found or decisions or reviews):
                raise only_rejected(claim) if await tx.audit.of_claim(claim.value) else unknown_claim(claim)
        ours = _facts(found, reviews[-1].team if reviews else None, where) if found else {}
        ours |= _standing(still.get(claim.value))
        facts = ours | decided_facts(decisions, sends.get(claim.value, 0 if found else None))
        facts |= {} if found else foreign_review(reviews, decisions)
        facts |= (
            {"words": f"{texts}, for those who may read them: `reenvio claim words {claim}`"} if texts else {}
        )
        for name, value in facts.items():
            tell(f"{name:10}{value}")
        for entry in story:
            tell(f"{_time(entry.at)}  {entry.event:18}  {entry.detail}")

    with_store(go)


def _why(claim: ClaimRow, decided: DecidedError | None) -> str:
    """What it waits for, and the error that brought it there."""
    if claim.incident:
        return claim.incident.message
    is_retry = claim.state is ClaimState.WAITING and decided and decided.retry_reason == claim.reason
    in_review = claim.state is ClaimState.IN_REVIEW and claim.reason != ReviewReason.PROTOCOL_MISSING
    error = decided.error if decided and (is_retry or in_review) else None
    return ": ".join(part for part in (claim.reason, error) if part)


def _cells(claim: ClaimRow, error: DecidedError | None, still: Standstill | None) -> tuple[str, ...]:
    due = _time(claim.next_retry_time) if claim.next_retry_time else ""
    number, reason = claim.protocol_number or "", _why(claim, error)
    aside = " (incident)" if claim.incident else " (stands still)" if still else ""
    state = f"{claim.state}{aside}"
    return claim.claim_id, claim.payer_id, state, str(claim.retry_count), due, number, reason


def _facts(claim: ClaimRow, team: str | None, where: AtPayer) -> dict[str, str]:
    facts = {
        "state": claim.state,
        "team": team if claim.state is ClaimState.IN_REVIEW else None,
        "payer": claim.payer_id,
        "batch": claim.batch_number,
        "deadline": _time(claim.deadline) if claim.deadline else None,
        "next send": _time(claim.next_retry_time) if claim.next_retry_time else None,
        "protocol": shown_protocol(claim.protocol_number),
        "arrival": ARRIVAL.get(where) if _rests(claim) else None,
        "way on": _review(claim) if claim.state is ClaimState.IN_REVIEW else None,
    }
    return {name: value for name, value in (facts | _incident(claim)).items() if value}


def _rests(claim: ClaimRow) -> bool:
    """Whether no answer is being waited for, and none that came has ended the claim."""
    is_open = not (claim.state.is_final or claim.state is ClaimState.SUBMITTING)
    return is_open or claim.incident is not None


def _review(claim: ClaimRow) -> str:
    decisions = ", ".join(allowed(claim.reason or ""))
    return f"`reenvio claim review {claim.claim_id} DECISION` with one of {decisions}"


def _incident(claim: ClaimRow) -> dict[str, str]:
    stuck = claim.incident
    if stuck is None:
        return {}
    return {
        "incident": f"since {_time(stuck.since)}: {stuck.message}",
        "instance": f"{stuck.process_instance_key}, {stuck.element_id}, job {stuck.key}",
        "way on": f"`reenvio claim resolve {claim.claim_id}` when it is mended, or `claim cancel`",
    }


def _standing(still: Standstill | None) -> dict[str, str]:
    """That the claim is past its time while others move, and what was done about it."""
    if still is None:
        return {}
    what = "its wait is over" if still.kind is StandingKind.WAIT else "its job's lock has ended"
    last = f", last {_time(still.nudged_at)}" if still.nudged_at else ""
    return {"standing": f"{what} since {_time(still.since)}; nudged {still.nudges} times{last}"}


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
