"""open-review: puts a claim that no retry can mend on a person's desk, with the reason."""

from bpmn.names import JobType
from domain.claim_state import ClaimState
from domain.ports import Clock
from domain.redaction import redact
from persistence.desk import Review
from persistence.store import Store
from workers.runtime.handler import JobHandler, JobInput, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome


class Input(JobInput):
    """Which claim, and why."""

    claim_id: str
    review_reason: str
    review_round: int | None = None
    submission_error: str | None = None


def open_review(store: Store, clock: Clock) -> JobHandler:
    """The handler; a redelivered job opens no second review."""

    async def handle(job: Job, given: Input) -> Outcome:
        now = await clock.now()
        review = Review(
            given.claim_id, given.review_round or 0, given.review_reason, redact(given.submission_error or "")
        )
        async with store.transaction() as tx:
            review_id = await tx.reviews.of_job(job.key)
            if review_id is None:
                review_id = await tx.reviews.open(review, job_key=job.key, now=now)
                await tx.claims.move(
                    given.claim_id, ClaimState.IN_REVIEW, now=now, reason=given.review_reason
                )
                await tx.journal.write(given.claim_id, "review_opened", given.review_reason, now=now)
        return Complete({"reviewId": review_id})

    return JobHandler(type=JobType.OPEN_REVIEW, variables=Input.names(), handle=typed(Input, handle))
