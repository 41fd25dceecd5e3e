"""open-review: asks a person about a claim that no retry can mend, with the reason."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from pydantic import Field

from bpmn.names import JobType, Team
from domain.claim_state import ClaimState
from domain.permission import OfAnother, of_another
from domain.redaction import redact
from domain.reviews import LostAnswer, hints, reason_after_lost_answer
from domain.submission import ArrivalUnknown
from persistence.repositories.claims import ClaimRow
from persistence.repositories.journal import CORRECTED
from persistence.repositories.reviews import Review
from persistence.store import Transaction
from workers.jobs.claim_owner import in_own_name
from workers.jobs.facts import review_opened
from workers.jobs.services import Services
from workers.runtime.handler import ClaimText, Count, JobHandler, JobInput, ShortText, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Incident, Outcome


class Input(JobInput):
    """Which claim, why, and for whom."""

    claim_id: ClaimText
    review_reason: ShortText
    review_round: Count | None = None
    submission_error: str | None = None
    retry_reason: str | None = None
    responsible_team: Annotated[Team, Field(strict=False)] | None = None


def open_review(services: Services) -> JobHandler:
    """The handler; a redelivered job opens no second review."""

    async def handle(job: Job, given: Input) -> Outcome:
        now = await services.clock.now()
        asked = _Asked(_review(given), job, now)
        return await in_own_name(
            services, job, given.claim_id, lambda: services.store.run(lambda tx: _open(tx, asked))
        )

    return JobHandler(type=JobType.OPEN_REVIEW, variables=Input.names(), handle=typed(Input, handle))


def _review(given: Input) -> Review:
    return Review(
        given.claim_id,
        given.review_round or 0,
        given.review_reason,
        detail=_detail(given),
        team=given.responsible_team,
    )


def _detail(given: Input) -> str:
    """Why no retry was made, and the last error."""
    return redact(": ".join(filter(None, (given.retry_reason, given.submission_error))))


@dataclass(frozen=True, slots=True)
class _Asked:
    review: Review
    job: Job
    now: datetime


async def _open(tx: Transaction, asked: _Asked) -> Complete | Incident | OfAnother:
    claim, process = await tx.claims.lock(asked.review.claim_id), asked.job.process_instance_key
    known = await tx.reviews.of_job(asked.job.key, asked.review.claim_id)
    if known is not None:
        return Complete({"reviewId": known})
    if claim and (other := of_another(claim.standing(None), process)):
        return other
    if claim and claim.state is ClaimState.ACCEPTED and claim.process_instance_key not in (None, process):
        return _nothing_to_decide(claim)
    return Complete({"reviewId": await _opened(tx, asked)})


async def _opened(tx: Transaction, asked: _Asked) -> int:
    review = await _in_the_light_of_its_sends(tx, asked.review)
    review_id = await tx.reviews.open(review, job_key=asked.job.key, now=asked.now)
    own = {"reason": review.reason, "process_instance_key": asked.job.process_instance_key}
    await tx.claims.move(review.claim_id, ClaimState.IN_REVIEW, now=asked.now, **own)
    await tx.journal.write(review.claim_id, "review_opened", review.reason, now=asked.now)
    await tx.outbox.add([review_opened(review, review_id, asked.now)])
    return review_id


def _nothing_to_decide(claim: ClaimRow) -> Incident:
    return Incident(
        f"{claim.claim_id} is accepted, protocol {claim.protocol_number}, by another process: nothing is "
        "left to decide. Cancel this process instance in Operate."
    )


async def _in_the_light_of_its_sends(tx: Transaction, review: Review) -> Review:
    """The review, with what the person must know of sends without an answer."""
    if not (await tx.attempts.history(review.claim_id)).answer_was_lost:
        return review
    lost = await _lost_answer(tx, review.claim_id)
    detail = "; ".join(filter(None, (review.detail, *hints(review.reason, lost))))
    reason = reason_after_lost_answer(review.reason, guide_is_known=lost.guide_is_known)
    return replace(review, reason=reason, detail=detail)


async def _lost_answer(tx: Transaction, claim_id: str) -> LostAnswer:
    corrected = any(entry.event == CORRECTED for entry in await tx.journal.of_claim(claim_id))
    last = (await tx.attempts.history(claim_id)).sends[-1]
    is_known = last.outcome == ArrivalUnknown.stored_as
    return LostAnswer(await tx.attempts.claimed_protocol(claim_id), corrected, is_known)
