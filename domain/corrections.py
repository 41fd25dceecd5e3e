"""What a corrected file may change: nothing while the payer has the first, no number while it may have it."""

from dataclasses import dataclass

from domain.claim_state import ClaimState
from domain.refusals import Refusal, conflict
from domain.reviews import AtPayer


@dataclass(frozen=True, slots=True)
class BatchNumbers:
    """By what a payer knows a batch again; None where nothing is known.

    `is_readable` is False where a file is kept that cannot be opened.
    """

    batch: str | None
    guides: tuple[str, ...] | None
    is_readable: bool = True


def require_correctable(claim_id: str, before: BatchNumbers, after: BatchNumbers, where: AtPayer) -> None:
    """Refuse a correction by which the payer could come to hold the claim twice."""
    if where is AtPayer.YES:
        raise conflict(
            "claimId",
            f"the payer has {claim_id} already",
            rule="a claim is sent once",
            remedy="Decide PROTOCOL_RECOVERED with the number the payer tells you, or WRITE_OFF.",
        )
    if where is AtPayer.MAYBE:
        _require_same_numbers(before, after)


def not_in_review(claim_id: str) -> Refusal:
    """The refusal of a correction that nobody waits for."""
    return conflict(
        "claimId",
        f"{claim_id} is not {ClaimState.IN_REVIEW}",
        rule="a file is corrected through its review",
        remedy=f"See `reenvio claim show {claim_id}`.",
    )


def _require_same_numbers(before: BatchNumbers, after: BatchNumbers) -> None:
    if before.batch not in (None, after.batch):
        raise _may_be_with_the_payer(f"its batch number is not {before.batch}", "batch number")
    if not before.is_readable:
        raise conflict(
            "file",
            "the file before cannot be opened, and may have reached the payer with other guide numbers",
            rule="a claim is sent once",
            remedy="Hand the same file in again first, which seals it anew; or, when the payer confirms that "
            "it has nothing, WRITE_OFF this claim and hand the new file in as a claim of its own.",
        )
    if before.guides is not None and sorted(before.guides) != sorted(after.guides or ()):
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
