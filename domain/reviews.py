"""Reviews: why a person is asked, what may be decided, and whether the payer has the claim meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from domain.refusals import ClaimRefusal


class ReviewReason(StrEnum):
    """Why a claim waits for a person."""

    MAX_RETRIES_EXCEEDED = "MAX_RETRIES_EXCEEDED"
    PERMANENT_ERROR = "PERMANENT_ERROR"
    PROTOCOL_MISSING = "PROTOCOL_MISSING"
    ARRIVAL_UNKNOWN = "ARRIVAL_UNKNOWN"  # open-review's own: an answer was lost, and nothing tells more


class ReviewDecision(StrEnum):
    """What a person may decide; any other text leaves the claim waiting."""

    RESEND = "RESEND"
    CORRECTED = "CORRECTED"
    WRITE_OFF = "WRITE_OFF"
    PROTOCOL_RECOVERED = "PROTOCOL_RECOVERED"

    @property
    def sends_again(self) -> bool:
        """Whether the claim leaves for its payer once more."""
        return self in (ReviewDecision.RESEND, ReviewDecision.CORRECTED)


class AtPayer(Enum):
    """Whether its payer has a claim, as far as we know."""

    YES = auto()
    MAYBE = auto()
    NO = auto()


@dataclass(frozen=True, slots=True)
class LostAnswer:
    """What is known of a claim that left and whose answer was lost.

    `guide_is_known`: its last send was refused for a guide that another claim of ours may have brought.
    """

    claimed_protocol: str | None
    corrected_since: bool
    guide_is_known: bool = False


def at_payer(last_reason: str | None, *, answer_was_lost: bool) -> AtPayer:
    """The payer has a claim whose last review misses only the protocol, and may have one left unanswered."""
    if last_reason == ReviewReason.PROTOCOL_MISSING:
        return AtPayer.YES
    return AtPayer.MAYBE if answer_was_lost else AtPayer.NO


def reason_after_lost_answer(reason: str, *, guide_is_known: bool = False) -> str:
    """Why a person is asked when an answer was lost: then spent retries and a known guide prove nothing."""
    by_guide = guide_is_known and reason == ReviewReason.PERMANENT_ERROR
    is_open = by_guide or reason == ReviewReason.MAX_RETRIES_EXCEEDED
    return ReviewReason.ARRIVAL_UNKNOWN if is_open else reason


def hints(reason: str, lost: LostAnswer) -> Iterator[str]:
    """What the person must know of a lost answer before the claim may go out again."""
    if reason != ReviewReason.PROTOCOL_MISSING:
        yield "the payer may have it, an answer was lost: ask the payer before it is sent again"
    if lost.guide_is_known:
        yield (
            "if it has this batch, PROTOCOL_RECOVERED; if not, RESEND or CORRECTED with the same numbers "
            "once the guide is free there, or WRITE_OFF and hand in a batch without that guide"
        )
    if lost.claimed_protocol:
        yield f"a damaged answer names protocol {lost.claimed_protocol}: ask the payer whether it is right"
    if lost.corrected_since:
        yield "the file was corrected since: the payer may hold the earlier one"


def allowed(reason: str) -> tuple[ReviewDecision, ...]:
    """What a person may decide in a review with this reason."""
    is_there = reason == ReviewReason.PROTOCOL_MISSING
    return tuple(decision for decision in ReviewDecision if not (is_there and decision.sends_again))


def require_decision(claim_id: str, reason: str, decision: ReviewDecision) -> None:
    """Refuse a decision that this review does not allow, whatever else is given with it."""
    if decision not in allowed(reason):
        raise ClaimRefusal(
            f"The payer has {claim_id} already, so it must not go out again: "
            "decide PROTOCOL_RECOVERED with the number the payer tells you, or WRITE_OFF."
        )


def require_allowed(claim_id: str, reason: str, decision: ReviewDecision, protocol: str | None) -> None:
    """Refuse a decision that this review does not allow with this protocol number, or with none."""
    require_decision(claim_id, reason, decision)
    recovers = decision is ReviewDecision.PROTOCOL_RECOVERED
    if recovers and not protocol:
        raise ClaimRefusal("PROTOCOL_RECOVERED needs the protocol number that the payer gave.")
    if protocol and not recovers:
        raise ClaimRefusal(f"A protocol number is for PROTOCOL_RECOVERED, not for {decision}.")


def require_cancellable(claim_id: str, where: AtPayer) -> None:
    """Refuse to cancel what its payer has or may have: the payer would not hear of it."""
    if where is AtPayer.YES:
        raise ClaimRefusal(
            f"The payer has {claim_id} already, and a cancellation here does not reach it: decide "
            "PROTOCOL_RECOVERED or WRITE_OFF in its review, or cancel with --although-sent."
        )
    if where is AtPayer.MAYBE:
        raise ClaimRefusal(
            f"The payer may have {claim_id}: the answer to a send was lost, and a cancellation here does not "
            "reach the payer. Find out with the payer first, then cancel with --although-sent."
        )
