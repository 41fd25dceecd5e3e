"""Puts a corrected file in the place of a claim's, unless the payer has, or may have, the first."""

from datetime import datetime

from bpmn.names import ReviewReason
from domain.claim_state import ClaimState
from persistence.claims import Arrival
from persistence.store import Transaction
from workers.intake.refusal import conflict

_EVERY_SEND = 2**31 - 1


async def replace_file(tx: Transaction, arrival: Arrival, sealed: str, now: datetime) -> None:
    """Keep the corrected file; only while the claim is in review."""
    await _require_not_with_the_payer(tx, arrival)
    content, batch = arrival.content_hash, arrival.batch_number
    if not await tx.claims.correct(arrival.claim_id, content_hash=content, batch_number=batch):
        raise conflict(
            "claimId",
            f"{arrival.claim_id} is not {ClaimState.IN_REVIEW}",
            rule="a file is corrected through its review",
            remedy=f"See `reenvio claim show {arrival.claim_id}`.",
        )
    await tx.payloads.put(arrival.claim_id, sealed, now=now)
    await tx.journal.write(arrival.claim_id, "corrected", f"a new file, batch {batch}", now=now)


async def _require_not_with_the_payer(tx: Transaction, arrival: Arrival) -> None:
    reviews = await tx.reviews.of_claim(arrival.claim_id)
    if reviews and reviews[-1].reason == ReviewReason.PROTOCOL_MISSING:
        raise conflict(
            "claimId",
            f"the payer has {arrival.claim_id} already",
            rule="a claim is sent once",
            remedy="Decide PROTOCOL_RECOVERED with the number the payer tells you, or WRITE_OFF.",
        )
    claim = await tx.claims.find(arrival.claim_id)
    may_have_arrived = await tx.attempts.answer_was_lost(arrival.claim_id, before=_EVERY_SEND)
    if claim and may_have_arrived and claim.batch_number not in (None, arrival.batch_number):
        raise conflict(
            "file",
            f"its batch number is not {claim.batch_number}, which may have reached the payer",
            rule="a claim is sent once",
            remedy="Keep the batch number, or find out with the payer first.",
        )
