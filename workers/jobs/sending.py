"""Whether a send of a claim may be under way, so that nobody may decide about the claim yet."""

from datetime import datetime, timedelta

from persistence.repositories.claims import ClaimRow
from persistence.store import Transaction
from workers.runtime.outcome import Postpone

ASK_AGAIN = timedelta(seconds=1)


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
