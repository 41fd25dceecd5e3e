"""open-review: puts a claim that no retry can mend on a person's desk, with the reason."""

from dataclasses import replace
from datetime import datetime

from bpmn.names import JobType, ReviewReason
from domain.claim_state import ClaimState
from domain.ports import Clock
from domain.redaction import redact
from persistence.desk import Review
from persistence.store import Store, Transaction
from workers.runtime.handler import JobHandler, JobInput, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome


class Input(JobInput):
    """Which claim, and why."""

    claim_id: str
    review_reason: str
    review_round: int | None = None
    submission_error: str | None = None
    retry_reason: str | None = None


def open_review(store: Store, clock: Clock) -> JobHandler:
    """The handler; a redelivered job opens no second review."""

    async def handle(job: Job, given: Input) -> Outcome:
        now = await clock.now()
        review = Review(given.claim_id, given.review_round or 0, given.review_reason, _detail(given))
        return Complete({"reviewId": await store.run(lambda tx: _open(tx, review, job.key, now))})

    return JobHandler(type=JobType.OPEN_REVIEW, variables=Input.names(), handle=typed(Input, handle))


def _detail(given: Input) -> str:
    """Why no retry was made, and the last error."""
    return redact(": ".join(filter(None, (given.retry_reason, given.submission_error))))


async def _open(tx: Transaction, review: Review, job_key: int, now: datetime) -> int:
    known = await tx.reviews.of_job(job_key)
    if known is not None:
        return known
    review = await _with_claimed_protocol(tx, review)
    review_id = await tx.reviews.open(review, job_key=job_key, now=now)
    await tx.claims.move(review.claim_id, ClaimState.IN_REVIEW, now=now, reason=review.reason)
    await tx.journal.write(review.claim_id, "review_opened", review.reason, now=now)
    return review_id


async def _with_claimed_protocol(tx: Transaction, review: Review) -> Review:
    """A damaged answer may have named the protocol: a hint for the person, no proof."""
    if review.reason != ReviewReason.PROTOCOL_MISSING:
        return review
    claimed = await tx.attempts.claimed_protocol(review.claim_id)
    if claimed is None:
        return review
    hint = f"a damaged answer names protocol {claimed}: ask the payer whether it is right"
    return replace(review, detail=f"{review.detail}; {hint}" if review.detail else hint)
