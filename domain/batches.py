"""One batch, one claim: the same batch under another id would reach its payer twice."""

from collections.abc import Hashable
from dataclasses import dataclass

from domain.claim_state import ClaimState

GIVEN_UP = frozenset({ClaimState.CANCELLED, ClaimState.WRITTEN_OFF})


@dataclass(frozen=True, slots=True)
class BatchIdentity:
    """A batch of some number to some payer: its content, and whose it is; None when nobody can tell."""

    content_hash: str | None
    provider: Hashable | None


def leaves_batch_free(state: ClaimState, *, may_have_arrived: bool) -> bool:
    """Whether a claim was given up and its payer cannot have it: then its batch may be another claim."""
    return state in GIVEN_UP and not may_have_arrived


def is_same_batch(known: BatchIdentity, given: BatchIdentity) -> bool:
    """Whether two batches of one number to one payer are the same; whose a batch is is never guessed."""
    return known.content_hash == given.content_hash or known.provider in (given.provider, None)
