"""A claim on record: found, or refused; and whether its payer has it."""

from domain.claim import ClaimId
from domain.refusals import ClaimRefusal
from domain.reviews import AtPayer, at_payer
from persistence.repositories.claims import ClaimRow
from persistence.store import Store, Transaction


def unknown_claim(claim_id: ClaimId) -> ClaimRefusal:
    """The refusal of a claim nobody here knows."""
    return ClaimRefusal(f"{claim_id} is not known here: see `reenvio claim list`.")


def only_rejected(claim_id: ClaimId) -> ClaimRefusal:
    """The refusal of a claim about which nothing was decided: its input was rejected so far."""
    why = "nothing was decided about it yet, its input was rejected"
    return ClaimRefusal(f"{claim_id}: {why}: see `reenvio audit show {claim_id}`.")


async def find_claim(store: Store, claim_id: ClaimId) -> ClaimRow:
    """The claim; a refusal when nobody knows it."""
    claim = await store.look(lambda tx: tx.claims.find(claim_id.value))
    if claim is None:
        raise unknown_claim(claim_id)
    return claim


async def whether_at_payer(tx: Transaction, claim_id: str) -> AtPayer:
    """Whether the claim's payer has it, by its last review and its sends."""
    sends = await tx.attempts.history(claim_id)
    if sends.acceptances:
        return AtPayer.YES
    reviews, lost = await tx.reviews.of_claim(claim_id), sends.answer_was_lost
    return at_payer(reviews[-1].reason if reviews else None, answer_was_lost=lost)
