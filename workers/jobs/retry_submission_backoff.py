"""retry-submission-backoff: reads the error, decides, and gives the timer its time (RN-BIL-004)."""

from datetime import datetime, timedelta

from bpmn.names import JobType
from domain.claim_state import ClaimState
from domain.decision import Decision, Retry, decide
from domain.errors import InvalidInput
from domain.inputs import VARIABLES, read_request
from domain.outputs import bpmn_error, output_variables
from domain.policy import Policy
from domain.ports import Clock
from persistence.decisions import StoredDecision
from persistence.store import Store, Transaction
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Incident, Outcome, Throw
from workers.runtime.outcome_json import from_json, to_json


def retry_submission_backoff(store: Store, policy: Policy, clock: Clock) -> JobHandler:
    """The handler: 2 s to decide, 10 decisions at once, as the rule sets them."""

    async def handle(job: Job) -> Outcome:
        try:
            request = read_request(job.variables, policy)
        except InvalidInput as refused:
            return Incident(str(refused))
        claim_id = str(request.claim_id)
        async with store.transaction() as tx:
            if stored := await tx.decisions.of_job(job.key, claim_id, request.retry_count):
                return from_json(stored)
            now = await clock.now()
            decision = decide(request, policy, now)
            outcome = report(decision, policy)
            row = StoredDecision(
                job.key, claim_id, request.retry_count, decision.policy_version, now, to_json(outcome)
            )
            await tx.decisions.add(row)
            await _record(tx, decision, now)
        return outcome

    return JobHandler(
        type=JobType.RETRY_SUBMISSION_BACKOFF,
        variables=VARIABLES,
        handle=handle,
        lock=timedelta(seconds=30),
        time_limit=timedelta(seconds=2),
        at_once=10,
    )


def report(decision: Decision, policy: Policy) -> Complete | Throw:
    """What the process is told."""
    if isinstance(decision, Retry):
        return Complete(output_variables(decision, policy.profile))
    error = bpmn_error(decision)
    return Throw(error.code, error.message, error.variables)


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
