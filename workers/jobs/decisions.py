"""retry-submission-backoff and analyze-retry: read the error, decide, give the timer its time."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from bpmn.names import JobType, Variable
from domain.claim_state import ClaimState
from domain.decision import Decision, Retry
from domain.errors import InvalidInput
from domain.inputs import VARIABLES
from domain.policy import Policy
from domain.ports import Clock
from persistence.decisions import StoredDecision
from persistence.store import Store, Transaction
from workers.deciding import Question, Ruling, outcome_of, rule
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Incident, Outcome
from workers.runtime.outcome_json import from_json, to_json

PolicyNow = Callable[[], Policy]
log = structlog.get_logger(__name__)


def retry_submission_backoff(store: Store, policy: PolicyNow, clock: Clock) -> JobHandler:
    """RN-BIL-004: 2 s to decide, 10 decisions at once."""
    return JobHandler(
        type=JobType.RETRY_SUBMISSION_BACKOFF,
        variables=(*VARIABLES, Variable.PAYER_ID),
        handle=_deciding(store, lambda: policy().under("RN-BIL-004"), clock),
        lock=timedelta(seconds=30),
        time_limit=timedelta(seconds=2),
        at_once=10,
    )


def analyze_retry(store: Store, policy: PolicyNow, clock: Clock) -> JobHandler:
    """RN-BIL-005: 10 s activation, 5 s to decide, 50 jobs active."""
    return JobHandler(
        type=JobType.ANALYZE_RETRY,
        variables=(*VARIABLES, Variable.PAYER_ID),
        handle=_deciding(store, lambda: policy().under("RN-BIL-005"), clock),
        lock=timedelta(seconds=10),
        time_limit=timedelta(seconds=5),
        at_once=50,
    )


def _deciding(store: Store, policy: PolicyNow, clock: Clock) -> Callable[[Job], Awaitable[Outcome]]:
    async def handle(job: Job) -> Outcome:
        now = await clock.now()
        try:
            ruling = rule(_question(job), policy(), now)
        except InvalidInput as refused:
            return Incident(str(refused))
        async with store.transaction() as tx:
            if stored := await _still_good(tx, job, ruling, now):
                return from_json(stored.result)
            outcome = outcome_of(ruling)
            await tx.decisions.keep(_stored(job, ruling, to_json(outcome)))
            await _record(tx, ruling.decision, now)
        _warn(ruling.decision)
        return outcome

    return handle


def _question(job: Job) -> Question:
    payer = job.variables.get(Variable.PAYER_ID)
    return Question(job.variables, job.headers, payer if isinstance(payer, str) else None)


async def _still_good(tx: Transaction, job: Job, ruling: Ruling, now: datetime) -> StoredDecision | None:
    """The decision this job got before; a time that has passed meanwhile is not handed out as new."""
    stored = await tx.decisions.of_job(job.key, str(ruling.decision.claim_id), ruling.asked_count)
    if stored and stored.next_retry_time and stored.next_retry_time <= now:
        return None
    return stored


def _stored(job: Job, ruling: Ruling, result: dict[str, object]) -> StoredDecision:
    decision = ruling.decision
    return StoredDecision(
        job_key=job.key,
        claim_id=str(decision.claim_id),
        retry_count=ruling.asked_count,
        policy_version=decision.policy_version,
        decided_at=decision.decided_at,
        next_retry_time=decision.next_retry_time if isinstance(decision, Retry) else None,
        result=result,
    )


async def _record(tx: Transaction, decision: Decision, now: datetime) -> None:
    claim_id = str(decision.claim_id)
    if isinstance(decision, Retry):
        changes = {"retry_count": decision.retry_count, "next_retry_time": decision.next_retry_time}
        await tx.claims.move(claim_id, ClaimState.WAITING, now=now, reason=decision.reason, **changes)
        wait = f"{decision.reason}, in {decision.backoff_minutes} min"
        await tx.journal.write(claim_id, "retry_scheduled", wait, now=now)
        return
    await tx.claims.move(claim_id, ClaimState.FAILED, now=now, reason=decision.reason)
    await tx.journal.write(claim_id, "given_up", decision.reason, now=now)


def _warn(decision: Decision) -> None:
    if decision.warning:
        log.warning("error_not_understood", claim=str(decision.claim_id), warning=decision.warning)
