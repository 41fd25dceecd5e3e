"""submit-claim: sends a claim to its payer, never twice for one job whose answer is known."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from bpmn.names import ErrorCode, JobType, Variable
from domain.claim_state import ClaimState
from domain.outputs import iso_time
from domain.ports import Clock
from domain.redaction import redact
from domain.submission import (
    Accepted,
    AnswerLost,
    Failed,
    PayerGateway,
    ProtocolMissing,
    Settled,
    Submission,
    Unavailable,
    settle,
)
from persistence.attempts import ANSWER_LOST, NOT_SENT
from persistence.store import Store, Transaction
from workers.idempotency import Operation
from workers.runtime.handler import JobHandler, JobInput, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome, Throw
from workers.runtime.outcome_json import from_json, to_json

_OUTCOME_NAMES = {
    Accepted: "ACCEPTED",
    ProtocolMissing: "PROTOCOL_MISSING",
    Failed: "FAILED",
    AnswerLost: ANSWER_LOST,
    Unavailable: NOT_SENT,
}


class Input(JobInput):
    """What the job reads from the process: references only."""

    claim_id: str
    payer_id: str = "unknown"


SEND_ONCE = Operation(
    "submit_claim",
    inputs=(Variable.CLAIM_ID, Variable.PAYER_ID, Variable.RETRY_COUNT, Variable.REVIEW_ROUND),
    undone=frozenset({ErrorCode.PAYER_UNAVAILABLE}),
)


def submit_claim(store: Store, payer: PayerGateway, clock: Clock) -> JobHandler:
    """The handler; its lock outlives the slowest payer."""

    async def handle(job: Job, given: Input) -> Outcome:
        now = await clock.now()
        begun = await store.run(lambda tx: _begin(tx, job, given, now))
        if not isinstance(begun, _Begun):
            return begun
        answer = await payer.send(begun.submission, now)
        settled = settle(answer, answer_was_lost_before=begun.answer_was_lost)
        outcome = report(settled, now)
        await store.run(lambda tx: _finish(tx, begun.submission, settled, now))
        return outcome

    return JobHandler(
        type=JobType.SUBMIT_CLAIM,
        variables=Input.names(),
        handle=typed(Input, handle),
        lock=timedelta(minutes=5),
        time_limit=timedelta(minutes=4),
    )


@dataclass(frozen=True, slots=True)
class _Begun:
    submission: Submission
    answer_was_lost: bool


async def _begin(tx: Transaction, job: Job, given: Input, now: datetime) -> _Begun | Complete | Throw:
    """Record that the claim leaves; a job that knows its answer gets it back instead."""
    earlier = await tx.attempts.of_job(job.key)
    if earlier is not None and earlier.result is not None:
        return from_json(earlier.result)
    attempt = await tx.attempts.start(given.claim_id, job.key, now=now)
    lost = await tx.attempts.answer_was_lost(given.claim_id, before=attempt)
    await tx.claims.put(given.claim_id, given.payer_id, ClaimState.SUBMITTING, now=now)
    return _Begun(Submission(given.claim_id, given.payer_id, attempt), lost)


async def _finish(tx: Transaction, sent: Submission, settled: Settled, now: datetime) -> None:
    name, result = _OUTCOME_NAMES[type(settled)], to_json(report(settled, now))
    await tx.attempts.finish(sent.claim_id, sent.attempt, name, result, now=now)
    await _record(tx, sent, settled, now)


def report(settled: Settled, now: datetime) -> Complete | Throw:
    """What the process is told."""
    match settled:
        case Accepted(protocol_number):
            return Complete({"protocolNumber": protocol_number})
        case ProtocolMissing():
            return Complete({"protocolNumber": None})
        case Failed(error, code) | AnswerLost(error, code):
            safe = redact(error)
            variables = {
                "submissionError": safe,
                "submissionErrorCode": code,
                "lastSubmissionTime": iso_time(now),
            }
            return Throw(ErrorCode.SUBMISSION_FAILED, safe, variables)
        case Unavailable(reason, resume_at):
            safe = redact(reason)
            variables = {"resumeAt": iso_time(resume_at), "payerUnavailableReason": safe}
            return Throw(ErrorCode.PAYER_UNAVAILABLE, safe, variables)
        case _:
            assert_never(settled)


async def _record(tx: Transaction, sent: Submission, settled: Settled, now: datetime) -> None:
    claim_id = sent.claim_id
    match settled:
        case Accepted(protocol_number):
            await tx.claims.move(
                claim_id, ClaimState.ACCEPTED, now=now, protocol_number=protocol_number, reason=None
            )
            await tx.journal.write(
                claim_id, "accepted", f"send {sent.attempt}, protocol {protocol_number}", now=now
            )
        case ProtocolMissing():
            reason = "the payer has it; the answer with the protocol was lost"
            await tx.claims.move(claim_id, ClaimState.FAILED, now=now, reason=reason)
            await tx.journal.write(claim_id, "protocol_missing", reason, now=now)
        case Failed(error, _) | AnswerLost(error, _):
            await tx.claims.move(claim_id, ClaimState.FAILED, now=now, reason=redact(error))
            await tx.journal.write(claim_id, "failed", f"send {sent.attempt}: {redact(error)}", now=now)
        case Unavailable(reason, resume_at):
            state, safe = ClaimState.WAITING, redact(reason)
            await tx.claims.move(claim_id, state, now=now, reason=safe, next_retry_time=resume_at)
            await tx.journal.write(claim_id, "payer_unavailable", f"{safe}; no attempt spent", now=now)
        case _:
            assert_never(settled)
