"""submit-claim: sends a claim when its payer takes claims, never twice for one job whose answer is known.

It looks under the claim's lock, which follows its payer's, whether it may send: no claim that has ended, none
that another process sends, none while a send of it is under way, and to the payer it was handed in for.

A send has four commits, for no transaction may stay open while a payer is asked: its idempotency record
begins, the claim leaves, the answer is written down, the record is settled. A fifth gives slots to the next
that wait, when some are due, and one more notes what a payer has cancelled before the send. Whoever dies in
between leaves on record how far it came; a send without an answer counts as one whose answer was lost.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, assert_never

import structlog

from bpmn.names import ErrorCode, JobType, Variable
from domain.claim_state import ClaimState
from domain.decision import HELD_TO_DEADLINE
from domain.errors import InvalidInput
from domain.inputs import read_claim_id, read_deadline, read_payer_id
from domain.payer_status import PayerLimits, PayerState
from domain.permission import OfAnother
from domain.policy import Policy
from domain.redaction import redact
from domain.submission import AccessDenied, Answered, OwnTrouble, SendResult, Settled, Submission, settle
from domain.verdicts import Candidate, Go, Hold, Stop
from persistence.encryption.cipher import Cipher
from persistence.repositories.attempts import AttemptResult
from persistence.repositories.claims import SentBy
from persistence.repositories.guides import SoughtGuides
from persistence.store import Transaction
from workers.claims.guides import other_holders
from workers.config.idempotency import OperationName
from workers.jobs.claim_owner import in_own_name
from workers.jobs.idempotent import Operation
from workers.jobs.rejections import rejected
from workers.jobs.send_result import (
    access_denied,
    deadline_near,
    facts_of,
    for_real_payers_only,
    held,
    move_to_wait,
    not_sent,
    record,
    record_hold,
    report,
    stored_answer,
)
from workers.jobs.sending_bars import must_wait, sending_barred
from workers.jobs.services import Services
from workers.payers.admission import LockedPayer, PayerChange, locked
from workers.policy.overrides import as_named
from workers.runtime.handler import JobHandler, JobInput, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Incident, Outcome, Postpone, Throw

OWN_TROUBLE_PAUSE = timedelta(seconds=20)
log = structlog.get_logger(__name__)


class Input(JobInput):
    """What the job reads from the process: references only; what they must be is a rule's part."""

    claim_id: Any = None
    payer_id: Any = None
    deadline: Any = None


SEND_ONCE = Operation(
    OperationName.SUBMIT_CLAIM,
    inputs=(Variable.CLAIM_ID, Variable.PAYER_ID, Variable.RETRY_COUNT, Variable.REVIEW_ROUND),
    undone=frozenset({ErrorCode.PAYER_UNAVAILABLE}),
)


def submit_claim(services: Services) -> JobHandler:
    """The handler; its lock outlives the slowest payer."""

    async def handle(job: Job, given: Input) -> Outcome:
        policy = services.policy()
        try:
            claim = await _candidate(services, given, as_named(policy, job.headers))
        except InvalidInput as refused:
            return await rejected(services, job, refused, policy)
        return await _submit(services, job, claim)

    return JobHandler(
        type=JobType.SUBMIT_CLAIM,
        variables=Input.names(),
        handle=typed(Input, handle),
        lock=timedelta(minutes=5),
        time_limit=timedelta(minutes=4),
        never_cut_short=True,
    )


async def _candidate(services: Services, given: Input, policy: Policy) -> Candidate:
    claim_id, deadline = read_claim_id(given.claim_id, policy).value, read_deadline(given.deadline, policy)
    known = None if given.payer_id else await services.store.look(lambda tx: tx.claims.find(claim_id))
    return Candidate(claim_id, known.payer_id if known else read_payer_id(given.payer_id), deadline)


async def _submit(services: Services, job: Job, claim: Candidate) -> Outcome:
    """Begin, send, finish."""
    began = await services.clock.now()
    begun: _Begun = await in_own_name(
        services, job, claim.claim_id, lambda: _begun(services, job, claim, began)
    )
    if not isinstance(begun, Submission):
        return begun
    result = await _sent(services, begun, began)
    if isinstance(result, OwnTrouble):
        return await _take_back(services, begun, result)
    sought = await services.guides.prepare(begun, result) if services.guides else None
    send = _Send(begun, job.process_instance_key, result, sought, began, await services.clock.now())
    limits = _limits(services, begun.payer_id)
    told, change = await services.store.run_until_written(lambda tx: _finish(tx, send, limits))
    await services.waker.after(change, send.ended)
    return report(begun, told, began)


async def _sent(services: Services, submission: Submission, now: datetime) -> SendResult:
    """Send; a gateway that breaks has an answer that is lost, but is under way no more."""
    try:
        return await services.payer.send(submission, now)
    except Exception:
        claim_id, attempt = submission.claim_id, submission.attempt
        await services.store.run(lambda tx: tx.payers.send_ended(claim_id, attempt))
        raise


_Begun = Submission | Complete | Throw | Incident | Postpone


async def _begun(services: Services, job: Job, claim: Candidate, now: datetime) -> _Begun | OfAnother:
    """Begin at the payer that the job names; where the claim was handed in for another, at that one."""

    async def begin(claim: Candidate) -> _Begun | OfAnother:
        terms = _Terms(_limits(services, claim.payer_id), services.cipher, now, services.practice)
        return await services.store.run(lambda tx: _begin(tx, job, claim, terms))

    try:
        return await begin(claim)
    except _PayerDiffersError as differs:
        log.warning("payer_differs", claim=claim.claim_id, handed_in_for=differs.payer_id)
        return await begin(replace(claim, payer_id=differs.payer_id))


@dataclass(frozen=True, slots=True)
class _Terms:
    limits: PayerLimits
    cipher: Cipher | None
    now: datetime
    practice: bool


class _PayerDiffersError(Exception):
    """Undoes what was begun at a payer that the claim was not handed in for."""

    def __init__(self, payer_id: str) -> None:
        super().__init__(payer_id)
        self.payer_id = payer_id


@dataclass(frozen=True, slots=True)
class _Send:
    submission: Submission
    process: int
    result: Answered
    sought: SoughtGuides | None
    began: datetime
    ended: datetime


async def _begin(tx: Transaction, job: Job, claim: Candidate, terms: _Terms) -> _Begun | OfAnother:
    """Record that the claim leaves, or waits; a job that knows its answer gets it back instead."""
    payer = await locked(tx, claim.payer_id, terms.limits, terms.now)
    known = await tx.claims.lock(claim.claim_id)
    if known and known.content_hash and known.payer_id != claim.payer_id:
        raise _PayerDiffersError(known.payer_id)
    bar = await sending_barred(tx, job, known, terms.now) if known else None
    if isinstance(bar, Complete):
        return bar
    if answer := await _known_answer(tx, job, claim):
        return answer
    if terms.practice and await tx.claims.was_handed_in(claim.claim_id):
        return for_real_payers_only(claim.claim_id)
    if bar or known is None:
        return bar or await _admitted(tx, job, claim, terms, payer)
    wait = await must_wait(tx, job, known, terms.now, longest=terms.limits.lease)
    return wait or await _admitted(tx, job, claim, terms, payer)


async def _admitted(
    tx: Transaction, job: Job, claim: Candidate, terms: _Terms, payer: LockedPayer
) -> Submission | Throw:
    admission = await payer.admit(claim)
    match admission.verdict:
        case Go():
            return await _leave(tx, job, claim, terms)
        case Hold() as hold:
            wait = record_hold if admission.is_first else move_to_wait
            await wait(tx, claim, hold, terms.now, process=job.process_instance_key)
            return held(hold)
        case Stop() as stop:
            return await _give_up(tx, job, claim, stop, terms.now)
        case _:
            assert_never(admission.verdict)


async def _known_answer(tx: Transaction, job: Job, claim: Candidate) -> Complete | Throw | Incident | None:
    """The answer of an earlier delivery; refused credentials hold for as long as nobody has resumed."""
    earlier = await tx.attempts.of_job(job.key, claim.claim_id)
    if earlier is None:
        return None
    if earlier.result is not None:
        return stored_answer(earlier.result, earlier.started_at)
    if earlier.outcome == AccessDenied.stored_as:
        status = await tx.payers.find(claim.payer_id)
        if status and status.state is PayerState.STOPPED:
            return access_denied(claim.payer_id, status.reason)
    return None


async def _leave(tx: Transaction, job: Job, claim: Candidate, terms: _Terms) -> Submission:
    claim_id, payer_id, now = claim.claim_id, claim.payer_id, terms.now
    content = await _file(tx, terms.cipher, claim_id)
    attempt = await tx.attempts.start(claim_id, job.key, now=now)
    lost = await tx.attempts.answer_was_lost(claim_id, before=attempt)
    undone = await tx.attempts.was_undone(claim_id, before=attempt)
    await tx.payers.send_began(claim_id, attempt, payer_id, until=now + terms.limits.lease)
    own = {"process_instance_key": job.process_instance_key, "protocol_number": None}
    await tx.claims.put(claim_id, payer_id, ClaimState.SUBMITTING, now=now, **own)
    return Submission(claim_id, payer_id, attempt, lost, undone, content)


async def _file(tx: Transaction, cipher: Cipher | None, claim_id: str) -> bytes | None:
    """The claim's file; read before the send is written down, since a key that fails is no lost answer."""
    return await tx.payloads.opened(claim_id, cipher) if cipher else None


async def _give_up(tx: Transaction, job: Job, claim: Candidate, stop: Stop, now: datetime) -> Throw:
    error = deadline_near(claim, stop)
    own = {"process_instance_key": job.process_instance_key, "reason": error}
    await tx.claims.put(claim.claim_id, claim.payer_id, ClaimState.FAILED, now=now, **own)
    await tx.journal.write(claim.claim_id, "deadline_near", f"not sent: {error}", now=now)
    return not_sent(redact(error), HELD_TO_DEADLINE)


async def _finish(tx: Transaction, send: _Send, limits: PayerLimits) -> tuple[Settled, PayerChange]:
    sent = send.submission
    payer = await locked(tx, sent.payer_id, limits, send.ended)
    others = await other_holders(tx, send.sought)
    alone = await _is_denied_alone(tx, send, payer)
    lost = sent.after_lost_answer
    settled = settle(send.result, answer_was_lost_before=lost, others=others, denied_alone=alone)
    change = await payer.after_send(sent, settled)
    result = AttemptResult(settled.stored_as, facts_of(settled))
    await tx.attempts.finish(sent.claim_id, sent.attempt, result, now=send.began)
    sent_by = SentBy(sent.claim_id, sent.attempt, send.process)
    told = await record(tx, sent_by, sent.payer_id, settled, send.began)
    return told, change


async def _is_denied_alone(tx: Transaction, send: _Send, payer: LockedPayer) -> bool:
    """Whether the claim was denied before, and the payer has taken others since it was resumed."""
    sent, is_denied = send.submission, isinstance(send.result, AccessDenied)
    takes_others = is_denied and payer.breaker.status.proven
    return takes_others and await tx.attempts.was_denied(sent.claim_id, before=sent.attempt)


async def _take_back(services: Services, begun: Submission, trouble: OwnTrouble) -> Postpone:
    """Nothing left, through no fault of claim and payer: as if the job had not been tried."""

    async def take_back(tx: Transaction) -> None:
        await tx.attempts.take_back(begun.claim_id, begun.attempt)
        await tx.payers.send_ended(begun.claim_id, begun.attempt)

    log.error("not_sent_for_own_trouble", claim=begun.claim_id, code=trouble.code, why=trouble.error)
    await services.store.run_until_written(take_back)
    return Postpone(f"{JobType.SUBMIT_CLAIM}: not sent: {trouble.error}", OWN_TROUBLE_PAUSE)


def _limits(services: Services, payer_id: str) -> PayerLimits:
    """The payer's limits, with the policy's reserve for a person before a deadline."""
    reserve = timedelta(seconds=services.policy().limits.reserve_seconds)
    return replace(services.payer_limits.of(payer_id), reserve=reserve)
