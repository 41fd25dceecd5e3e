"""What a payer has cancelled before a batch is sent again, and what that means for its claim."""

from datetime import datetime

import structlog

from domain.claim_state import ClaimState
from domain.lifecycle_events import ClaimAcceptanceUndoneEvent
from domain.submission import Submission
from persistence.repositories.claims import ClaimRow
from persistence.repositories.facts import fact
from persistence.store import Transaction

SHOWN_AS_TAKEN = frozenset({ClaimState.ACCEPTED, ClaimState.IN_REVIEW})
log = structlog.get_logger(__name__)


async def note_cancelled(tx: Transaction, sent: Submission, now: datetime) -> None:
    """Note the payer's word that it has cancelled what it had of the batch when this send was about to leave.

    Where that was taken from another send meanwhile, its acceptance is none any more: a person has to know.
    """
    claim = await tx.claims.lock(sent.claim_id)
    await tx.attempts.undo(sent.claim_id, before=sent.attempt, now=now)
    await tx.attempts.undo_later(sent.claim_id, after=sent.attempt, now=now)
    await tx.first_rounds.forget_acceptance(sent.claim_id)
    done = "the payer has cancelled what it had of the earlier sends"
    await tx.journal.write(sent.claim_id, "cancelled_at_payer", done, now=now)
    if claim and claim.state in SHOWN_AS_TAKEN and claim.protocol_number:
        await _take_from_accepted(tx, claim, now)


async def _take_from_accepted(tx: Transaction, claim: ClaimRow, now: datetime) -> None:
    claim_id, protocol = claim.claim_id, claim.protocol_number
    reason = (
        f"its payer has cancelled the batch that it had accepted as {protocol}: ask the payer, then start "
        "its process anew, or hand the batch in under another number and claim id"
    )
    log.error("accepted_batch_cancelled", claim=claim_id, protocol=protocol, was=claim.state)
    await tx.claims.move(claim_id, ClaimState.IN_REVIEW, now=now, reason=reason, protocol_number=None)
    await tx.journal.write(claim_id, "acceptance_cancelled", reason, now=now)
    undone = ClaimAcceptanceUndoneEvent(claim_id, claim.payer_id, protocol or "", now)
    await tx.outbox.add([fact(undone, claim_id, now, protocol)])
