"""close-claim: records how a claim ended when a person, not the payer, ended it."""

from datetime import datetime

from bpmn.names import Header, JobType
from domain.claim_state import ClaimState
from persistence.store import Transaction
from workers.jobs.services import Services
from workers.policy.overrides import REMEDY
from workers.runtime.handler import ClaimText, JobHandler, JobInput, ShortText, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Incident, Outcome

FINAL = {state.value: state for state in ClaimState if state.is_final}


class Input(JobInput):
    """Which claim, and the protocol number where a person recovered it."""

    claim_id: ClaimText
    protocol_number: ShortText | None = None


def close_claim(services: Services) -> JobHandler:
    """The handler; the end state comes from the task's header."""

    async def handle(job: Job, given: Input) -> Outcome:
        state = FINAL.get(job.headers.get(Header.OUTCOME, ""))
        if state is None:
            return Incident(
                f"{job.element_id} needs the task header {Header.OUTCOME} with one of {', '.join(FINAL)}. "
                f"{REMEDY}"
            )
        now = await services.clock.now()
        await services.store.run(lambda tx: _close(tx, given, state, now))
        return Complete()

    return JobHandler(type=JobType.CLOSE_CLAIM, variables=Input.names(), handle=typed(Input, handle))


async def _close(tx: Transaction, given: Input, state: ClaimState, now: datetime) -> None:
    await tx.payers.release(given.claim_id)
    changes = {"protocol_number": given.protocol_number} if given.protocol_number else {}
    if await tx.claims.close(given.claim_id, state, now=now, reason=None, **changes):
        ordered = await tx.orders.latest_of_claim(given.claim_id)
        why = f"closed on order: {ordered}" if ordered else "closed by a message without an order on record"
        await tx.journal.write(given.claim_id, state.lower(), why, now=now)
