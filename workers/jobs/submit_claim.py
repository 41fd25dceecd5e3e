"""submit-claim: sends a claim when its payer takes claims, never twice for one job whose answer is known."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from bpmn.names import ErrorCode, JobType, Variable
from domain.breaker import Go, Hold, Stop
from domain.claim_state import ClaimState
from domain.errors import InvalidInput
from domain.inputs import read_deadline
from domain.payer_status import PayerLimits, PayerState
from domain.policy import Policy
from domain.ports import Clock
from domain.submission import AnswerLost, PayerGateway, Settled, Submission, settle
from persistence.encryption.cipher import Cipher
from persistence.repositories.attempts import ACCESS_DENIED
from persistence.store import Store, Transaction
from workers.jobs.idempotent import Operation
from workers.jobs.send_result import (
    OUTCOME_NAMES,
    accepted_with,
    access_denied,
    deadline_near,
    failed,
    held,
    move_to_wait,
    record,
    record_hold,
    report,
)
from workers.jobs.services import PolicyNow
from workers.payers.admission import Candidate, PayerChange, admit, after_answer
from workers.payers.waking import Waker
from workers.runtime.handler import JobHandler, JobInput, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Incident, Outcome, Throw
from workers.runtime.outcome_json import from_json, to_json


class Input(JobInput):
    """What the job reads from the process: references only."""

    claim_id: str
    payer_id: str = "unknown"
    deadline: str | None = None


SEND_ONCE = Operation(
    "submit_claim",
    inputs=(Variable.CLAIM_ID, Variable.PAYER_ID, Variable.RETRY_COUNT, Variable.REVIEW_ROUND),
    undone=frozenset({ErrorCode.PAYER_UNAVAILABLE}),
)


def submit_claim(
    store: Store,
    payer: PayerGateway,
    policy: PolicyNow,
    clock: Clock,
    waker: Waker,
    cipher: Cipher | None = None,
) -> JobHandler:
    """The handler; its lock outlives the slowest payer. Without a cipher no file goes along."""

    async def handle(job: Job, given: Input) -> Outcome:
        try:
            claim = Candidate(given.claim_id, given.payer_id, read_deadline(given.deadline, policy()))
        except InvalidInput as refused:
            return Incident(str(refused))
        now, limits = await clock.now(), _within(policy(), waker.book.of(claim.payer_id))
        begun = await store.run(lambda tx: _begin(tx, job, claim, _Terms(limits, cipher, now)))
        if not isinstance(begun, Submission):
            return begun
        settled = settle(await payer.send(begun, now), answer_was_lost_before=begun.after_lost_answer)
        send = _Sent(begun, settled, report(begun, settled, now), now, await clock.now())
        change = await store.run_until_written(lambda tx: _finish(tx, send, limits))
        await waker.after(change, send.ended)
        return send.told

    return JobHandler(
        type=JobType.SUBMIT_CLAIM,
        variables=Input.names(),
        handle=typed(Input, handle),
        lock=timedelta(minutes=5),
        time_limit=timedelta(minutes=4),
    )


@dataclass(frozen=True, slots=True)
class _Terms:
    limits: PayerLimits
    cipher: Cipher | None
    now: datetime


@dataclass(frozen=True, slots=True)
class _Sent:
    submission: Submission
    settled: Settled
    told: Complete | Throw | Incident
    began: datetime
    ended: datetime


async def _begin(
    tx: Transaction, job: Job, claim: Candidate, terms: _Terms
) -> Submission | Complete | Throw | Incident:
    """Record that the claim leaves, or waits; a job that knows its answer gets it back instead."""
    earlier = await tx.attempts.of_job(job.key)
    if earlier is not None and earlier.result is not None:
        return from_json(earlier.result)
    if earlier is not None and earlier.outcome == ACCESS_DENIED:
        status = await tx.payers.find(claim.payer_id)
        if status and status.state is PayerState.STOPPED:
            return access_denied(claim.payer_id, status.reason)
    now = terms.now
    admission = await admit(tx, claim, terms.limits, now)
    match admission.verdict:
        case Go():
            return await _leave(tx, job, claim, terms)
        case Hold(resume_at, _, reason):
            wait = record_hold if admission.is_first else move_to_wait
            await wait(tx, claim, reason, resume_at, now)
            return held(reason, resume_at)
        case Stop() as stop:
            return await _give_up(tx, claim, stop, now)
        case _:
            assert_never(admission.verdict)


async def _leave(tx: Transaction, job: Job, claim: Candidate, terms: _Terms) -> Submission:
    claim_id, payer_id, now = claim.claim_id, claim.payer_id, terms.now
    content = await _file(tx, terms.cipher, claim_id)
    attempt = await tx.attempts.start(claim_id, job.key, now=now)
    lost = await tx.attempts.answer_was_lost(claim_id, before=attempt)
    undone = await tx.attempts.was_undone(claim_id, before=attempt)
    await tx.payers.send_began(claim_id, attempt, payer_id, until=now + terms.limits.lease)
    await tx.claims.put(claim_id, payer_id, ClaimState.SUBMITTING, now=now)
    return Submission(claim_id, payer_id, attempt, lost, undone, content)


async def _file(tx: Transaction, cipher: Cipher | None, claim_id: str) -> bytes | None:
    """The claim's file; read before the send is written down, since a key that fails is no lost answer."""
    return await tx.payloads.opened(claim_id, cipher) if cipher else None


async def _give_up(tx: Transaction, claim: Candidate, stop: Stop, now: datetime) -> Throw:
    error = deadline_near(claim, stop)
    await tx.claims.put(claim.claim_id, claim.payer_id, ClaimState.FAILED, now=now, reason=error)
    await tx.journal.write(claim.claim_id, "deadline_near", f"not sent: {error}", now=now)
    return failed(error, None, now)


async def _finish(tx: Transaction, send: _Sent, limits: PayerLimits) -> PayerChange:
    sent, now = send.submission, send.began
    change = await after_answer(tx, sent, send.settled, limits, send.ended)
    said = _claimed(send.settled) | accepted_with(send.settled)
    result = None if isinstance(send.told, Incident) else to_json(send.told) | said
    await tx.attempts.finish(sent.claim_id, sent.attempt, OUTCOME_NAMES[type(send.settled)], result, now=now)
    await record(tx, sent, send.settled, now)
    return change


def _claimed(settled: Settled) -> dict[str, str]:
    """What a damaged answer claims, for the person who will look for the protocol."""
    protocol = settled.claimed_protocol if isinstance(settled, AnswerLost) else None
    return {"claimedProtocol": protocol} if protocol else {}


def _within(policy: Policy, limits: PayerLimits) -> PayerLimits:
    """The payer's limits, with the policy's reserve for a person before a deadline."""
    return replace(limits, reserve=timedelta(seconds=policy.limits.reserve_seconds))
