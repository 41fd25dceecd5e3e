"""submit-claim: sends a claim to its payer, never twice for one job whose answer is known."""

from datetime import datetime, timedelta
from typing import assert_never

from bpmn.names import ErrorCode, JobType
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


def submit_claim(store: Store, payer: PayerGateway, clock: Clock) -> JobHandler:
    """The handler; its lock outlives the slowest payer."""

    async def handle(job: Job, given: Input) -> Outcome:
        now = await clock.now()
        async with store.transaction() as tx:
            earlier = await tx.attempts.of_job(job.key)
            if earlier is not None and earlier.result is not None:
                return from_json(earlier.result)
            attempt = await tx.attempts.start(given.claim_id, job.key, now=now)
            lost = await tx.attempts.answer_was_lost(given.claim_id, before=attempt)
            await tx.claims.put(given.claim_id, given.payer_id, ClaimState.SUBMITTING, now=now)
        submission = Submission(given.claim_id, given.payer_id, attempt)
        settled = settle(await payer.send(submission, now), answer_was_lost_before=lost)
        outcome = report(settled, now)
        async with store.transaction() as tx:
            name = _OUTCOME_NAMES[type(settled)]
            await tx.attempts.finish(given.claim_id, attempt, name, to_json(outcome), now=now)
            await _record(tx, submission, settled, now)
        return outcome

    return JobHandler(
        type=JobType.SUBMIT_CLAIM,
        variables=Input.names(),
        handle=typed(Input, handle),
        lock=timedelta(minutes=5),
        time_limit=timedelta(minutes=4),
    )


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
            variables = {"resumeAt": iso_time(resume_at), "payerUnavailableReason": reason}
            return Throw(ErrorCode.PAYER_UNAVAILABLE, reason, variables)
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
            state = ClaimState.WAITING
            await tx.claims.move(claim_id, state, now=now, reason=reason, next_retry_time=resume_at)
            await tx.journal.write(claim_id, "payer_unavailable", f"{reason}; no attempt spent", now=now)
        case _:
            assert_never(settled)
