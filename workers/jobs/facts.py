"""The facts that jobs of a claim leave in the outbox, each in the commit that makes it true."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from domain.claim_state import ClaimState
from domain.lifecycle_events import (
    AcceptedBy,
    ClaimAcceptedEvent,
    ClaimCancelledEvent,
    ClaimWrittenOffEvent,
    LifecycleEvent,
    ReviewDecidedEvent,
    ReviewOpenedEvent,
    ReviewOutcome,
)
from persistence.repositories.claims import ClaimRow
from persistence.repositories.facts import fact
from persistence.repositories.outbox import OutboxEvent
from persistence.repositories.reviews import Review

OUTCOMES = {
    ClaimState.ACCEPTED: ReviewOutcome.ACCEPTED,
    ClaimState.CANCELLED: ReviewOutcome.CANCELLED,
    ClaimState.WRITTEN_OFF: ReviewOutcome.WRITTEN_OFF,
}


@dataclass(frozen=True, slots=True)
class ClaimEnd:
    """How a person ended a claim, by which job, and on which order."""

    state: ClaimState
    job_key: int
    now: datetime
    protocol_number: str | None = None
    order_id: int | None = None


def accepted_by_payer(claim: ClaimRow, attempt: int | None, now: datetime) -> OutboxEvent:
    """That the payer took the claim by this send."""
    event = ClaimAcceptedEvent(
        claim.claim_id, claim.payer_id, claim.protocol_number, attempt, AcceptedBy.PAYER, now
    )
    return fact(event, claim.claim_id, now, attempt)


def review_opened(review: Review, review_id: int, now: datetime) -> OutboxEvent:
    """That the claim waits for a person."""
    event = ReviewOpenedEvent(review.claim_id, review_id, review.round, review.reason, review.team, now)
    return fact(event, review.claim_id, now, review_id)


def resent_after_review(claim_id: str, job_key: int, now: datetime) -> OutboxEvent:
    """That a person let the claim be sent again."""
    return fact(ReviewDecidedEvent(claim_id, ReviewOutcome.RESENT, now), claim_id, now, job_key)


def closed(claim: ClaimRow, end: ClaimEnd) -> Iterator[OutboxEvent]:
    """That a person ended the claim, and decided its review where it was in one."""
    if claim.state is ClaimState.IN_REVIEW:
        decided = ReviewDecidedEvent(claim.claim_id, OUTCOMES[end.state], end.now)
        yield fact(decided, claim.claim_id, end.now, end.job_key)
    yield fact(_end(claim, end), claim.claim_id, end.now, end.job_key)


def _end(claim: ClaimRow, end: ClaimEnd) -> LifecycleEvent:
    match end.state:
        case ClaimState.CANCELLED:
            return ClaimCancelledEvent(claim.claim_id, claim.payer_id, end.order_id, end.now)
        case ClaimState.WRITTEN_OFF:
            return ClaimWrittenOffEvent(claim.claim_id, claim.payer_id, end.order_id, end.now)
        case _:
            number = end.protocol_number or claim.protocol_number
            return ClaimAcceptedEvent(
                claim.claim_id, claim.payer_id, number, None, AcceptedBy.PERSON, end.now
            )
