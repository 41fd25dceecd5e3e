"""Puts a corrected file in the place of a claim's, unless the payer has, or may have, the first."""

from dataclasses import dataclass
from datetime import datetime

from domain.claim_state import ClaimState
from gateways.tiss.lote import read_lote
from persistence.repositories.claims import Arrival
from persistence.repositories.journal import CORRECTED
from persistence.store import Transaction
from workers.claims.messages import payer_has
from workers.claims.refusal import Refusal, conflict


@dataclass(frozen=True, slots=True)
class Correction:
    """A corrected file, sealed; `keeps_guides` says that it holds the guides of the one before."""

    arrival: Arrival
    sealed: str
    keeps_guides: bool


def same_guides(earlier: bytes, corrected: bytes) -> bool:
    """Whether two batch files hold the same guides, in any order."""
    return sorted(read_lote(earlier).guides) == sorted(read_lote(corrected).guides)


async def replace_file(tx: Transaction, correction: Correction, now: datetime) -> None:
    """Keep the corrected file; only while the claim is in review."""
    await _require_not_with_the_payer(tx, correction)
    arrival = correction.arrival
    content, batch = arrival.content_hash, arrival.batch_number
    if not await tx.claims.correct(arrival.claim_id, content_hash=content, batch_number=batch):
        raise conflict(
            "claimId",
            f"{arrival.claim_id} is not {ClaimState.IN_REVIEW}",
            rule="a file is corrected through its review",
            remedy=f"See `reenvio claim show {arrival.claim_id}`.",
        )
    await tx.payloads.put(arrival.claim_id, correction.sealed, now=now)
    await tx.journal.write(arrival.claim_id, CORRECTED, f"a new file, batch {batch}", now=now)


async def _require_not_with_the_payer(tx: Transaction, correction: Correction) -> None:
    arrival = correction.arrival
    if await payer_has(tx, arrival.claim_id):
        raise conflict(
            "claimId",
            f"the payer has {arrival.claim_id} already",
            rule="a claim is sent once",
            remedy="Decide PROTOCOL_RECOVERED with the number the payer tells you, or WRITE_OFF.",
        )
    claim = await tx.claims.find(arrival.claim_id)
    if claim is None or not await tx.attempts.answer_was_lost(arrival.claim_id):
        return
    if claim.batch_number not in (None, arrival.batch_number):
        raise _may_be_with_the_payer(f"its batch number is not {claim.batch_number}", "batch number")
    if not correction.keeps_guides:
        raise _may_be_with_the_payer("its guide numbers are not those of the file before", "guide numbers")


def _may_be_with_the_payer(change: str, kept: str) -> Refusal:
    """By these numbers a payer knows a batch that it has already: with others it would take it twice."""
    return conflict(
        "file",
        f"{change}, and that may have reached the payer",
        rule="a claim is sent once",
        remedy=f"Keep the {kept}; or, when the payer confirms that it has nothing, WRITE_OFF this claim and "
        "hand the new file in as a claim of its own.",
    )
