"""What a job that may not send its claim is told."""

from datetime import datetime, timedelta

from domain.claim_state import ClaimState
from domain.permission import AlreadyAccepted, Ended, OfAnother, sending_bar
from persistence.repositories.claims import ClaimRow
from persistence.store import Transaction
from workers.jobs.send_result import accepted
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Incident, Postpone

ASK_AGAIN = timedelta(seconds=1)
MAY_BE_UNDER_WAY = frozenset({ClaimState.SUBMITTING, ClaimState.IN_REVIEW})


async def sending_barred(
    tx: Transaction, job: Job, claim: ClaimRow, now: datetime
) -> Complete | Incident | OfAnother | None:
    """What a claim that is locked here, or its process, has against the send; None when nothing."""
    standing = claim.standing(await _accepted_as(tx, claim))
    match sending_bar(standing, job.process_instance_key):
        case AlreadyAccepted(protocol):
            await _end_own(tx, job, claim, now)
            return accepted(protocol)
        case Ended(state):
            return _ended(claim.claim_id, state)
        case other:
            return other


async def must_wait(
    tx: Transaction, job: Job, claim: ClaimRow, now: datetime, *, longest: timedelta
) -> Postpone | None:
    """Whether a send of the claim may be under way, or a person has it whom the job does not know of."""
    if claim.state not in MAY_BE_UNDER_WAY:
        return None
    if sending := await under_way(tx, claim, now, longest=longest):
        return sending
    if claim.state is ClaimState.IN_REVIEW and await _is_from_before_the_review(tx, job, claim):
        return Postpone(f"{claim.claim_id} is in review since this job was created", ASK_AGAIN)
    return None


async def under_way(
    tx: Transaction, claim: ClaimRow, now: datetime, *, longest: timedelta
) -> Postpone | None:
    """While a send of the claim may be under way, the job comes again when it must be over."""
    until = await tx.payers.send_under_way(claim.claim_id, now=now)
    if until is None:
        return None
    if until > now + longest:
        await tx.payers.shorten_sends(claim.payer_id, claim_id=claim.claim_id, now=now, longest=longest)
    most = min(until - now, longest)
    return Postpone(f"A send of {claim.claim_id} is under way: its answer decides.", most + ASK_AGAIN)


async def _accepted_as(tx: Transaction, claim: ClaimRow) -> str | None:
    """The number of an acceptance that stands; one that came while a person had the claim counts too."""
    if claim.state.is_final or claim.protocol_number is None:
        return claim.protocol_number if claim.state is ClaimState.ACCEPTED else None
    return await tx.attempts.accepted_protocol(claim.claim_id)


async def _end_own(tx: Transaction, job: Job, claim: ClaimRow, now: datetime) -> None:
    if not claim.state.is_final and claim.process_instance_key in (None, job.process_instance_key):
        await tx.claims.close(claim.claim_id, ClaimState.ACCEPTED, now=now, reason=None)


async def _is_from_before_the_review(tx: Transaction, job: Job, claim: ClaimRow) -> bool:
    """Keys of one process instance grow; a job that a person began again has its first key."""
    opened_by = await tx.reviews.last_job(claim.claim_id)
    return opened_by is not None and job.key < opened_by


def _ended(claim_id: str, state: ClaimState) -> Incident:
    return Incident(
        f"{claim_id} is {state}, and a claim that has ended is never sent. Cancel this process instance in "
        "Operate; to send the batch after all, hand its file in under another claim id.",
        is_undone=True,
    )
