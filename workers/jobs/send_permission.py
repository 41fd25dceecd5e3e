"""Whether a job may send its claim, before its payer's breaker is asked.

It looks under each claim's lock, which follows its payer's: no claim is sent that has ended, none that
another process sends, none while a send of it is under way, and none but to the payer it was handed in for.
"""

from domain.claim_state import ClaimState
from domain.payer_status import PayerState
from domain.permission import AlreadyAccepted, Ended, OfAnother, sending_bar
from domain.submission import AccessDenied
from persistence.repositories.attempts import History
from persistence.repositories.claims import ClaimRow
from persistence.store import Transaction
from workers.jobs.once import Remembered
from workers.jobs.send_group import AskedSend, NotSent, PayerDiffers, SendGroup
from workers.jobs.send_result import accepted, access_denied, for_real_payers_only, stored_answer
from workers.jobs.sending import ASK_AGAIN, under_way
from workers.runtime.outcome import Complete, Incident, Outcome, Postpone


async def told_at_once(group: SendGroup, one: AskedSend) -> NotSent | None:
    """What a job is told without asking its payer's breaker; None when it wants to go."""
    claim_id, known = one.claim.claim_id, group.known[one.claim.claim_id]
    start = group.starts.get(claim_id)
    if isinstance(start, Remembered):
        return NotSent(start.told)
    row = known.row
    if row and row.content_hash and row.payer_id != one.claim.payer_id:
        return NotSent(PayerDiffers(row.payer_id))
    barred = _barred(one, row, known.history) if row else None
    if barred and isinstance(barred.told, Complete):
        return barred
    if answer := _known_answer(group, one, known.history):
        return NotSent(answer)
    if group.terms.practice and await group.tx.claims.was_handed_in(claim_id):
        return NotSent(for_real_payers_only(claim_id))
    return barred or (await _must_wait(group, one, row) if row else None)


def _barred(one: AskedSend, row: ClaimRow, history: History) -> NotSent | None:
    """What the claim, or its process, has against the send."""
    match sending_bar(row.standing(_accepted_as(row, history)), one.job.process_instance_key):
        case AlreadyAccepted(protocol):
            return NotSent(accepted(protocol), _ended_as_accepted(one, row))
        case Ended(state):
            return NotSent(_never_sent(row.claim_id, state))
        case OfAnother() as other:
            return NotSent(other)
        case None:
            return None


def _accepted_as(row: ClaimRow, history: History) -> str | None:
    """The number of an acceptance that stands; one that came while a person had the claim counts too."""
    if row.state.is_final or row.protocol_number is None:
        return row.protocol_number if row.state is ClaimState.ACCEPTED else None
    return history.protocol_beside(row.protocol_number)


def _ended_as_accepted(one: AskedSend, row: ClaimRow) -> ClaimRow | None:
    is_own = row.process_instance_key in (None, one.job.process_instance_key)
    ends = is_own and not row.state.is_final
    return row.moved(ClaimState.ACCEPTED, now=one.now, reason=None) if ends else None


def _known_answer(group: SendGroup, one: AskedSend, history: History) -> Outcome | None:
    """The answer of an earlier delivery; refused credentials hold for as long as nobody has resumed."""
    earlier, status = history.of_job(one.job.key), group.payer.breaker.status
    if earlier is None:
        return None
    if earlier.result is not None:
        return stored_answer(earlier.result, earlier.started_at)
    if earlier.outcome == AccessDenied.stored_as and status.state is PayerState.STOPPED:
        return access_denied(one.claim.payer_id, status.reason)
    return None


async def _must_wait(group: SendGroup, one: AskedSend, row: ClaimRow) -> NotSent | None:
    """Whether a send of the claim may be under way, or a person has it whom the job does not know of."""
    sending = group.known[row.claim_id].under_way is not None
    if sending and (wait := await under_way(group.tx, row, one.now, longest=group.terms.limits.lease)):
        return NotSent(wait)
    if row.state is ClaimState.IN_REVIEW and await _is_from_before_the_review(group.tx, one):
        return NotSent(Postpone(f"{row.claim_id} is in review since this job was created", ASK_AGAIN))
    return None


async def _is_from_before_the_review(tx: Transaction, one: AskedSend) -> bool:
    """Keys of one process instance grow; a job that was begun again has its first key."""
    opened_by = await tx.reviews.last_job(one.claim.claim_id)
    return opened_by is not None and one.job.key < opened_by


def _never_sent(claim_id: str, state: ClaimState) -> Incident:
    return Incident(
        f"{claim_id} is {state}, and a claim that has ended is never sent. Cancel this process instance in "
        "Operate; to send the batch after all, hand its file in under another claim id.",
        is_undone=True,
    )
