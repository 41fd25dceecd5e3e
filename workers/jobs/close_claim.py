"""close-claim: records how a claim ended when a person, not the payer, ended it."""

from dataclasses import dataclass
from datetime import datetime

from bpmn.names import Header, JobType
from domain.claim_state import ClaimState
from domain.operators import ENDED_BY
from domain.permission import OfAnother, of_another
from persistence.repositories.claims import ClaimRow
from persistence.repositories.operator_orders import KeptOrder
from persistence.store import Transaction
from workers.claims.messages import wait_of
from workers.jobs.claim_owner import in_own_name
from workers.jobs.facts import ClaimEnd, closed
from workers.jobs.sending import under_way
from workers.jobs.services import Services
from workers.payers.limits import LimitsByPayer
from workers.policy.overrides import REMEDY
from workers.runtime.handler import ClaimText, JobHandler, JobInput, RowId, ShortText, typed
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Incident, Outcome, Postpone

FINAL = {state.value: state for state in ClaimState if state.is_final}


class Input(JobInput):
    """Which claim, the protocol number where a person recovered it, which wait was to end, on which order."""

    claim_id: ClaimText
    protocol_number: ShortText | None = None
    cancelled_wait: ShortText | None = None
    closing_order_id: RowId | None = None


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
        closing = _Closing(given, state, job.process_instance_key, job.key, now, services.payer_limits)
        return await in_own_name(
            services, job, given.claim_id, lambda: services.store.run(lambda tx: _close(tx, closing))
        )

    return JobHandler(type=JobType.CLOSE_CLAIM, variables=Input.names(), handle=typed(Input, handle))


@dataclass(frozen=True, slots=True)
class _Closing:
    given: Input
    state: ClaimState
    process: int
    job_key: int
    now: datetime
    limits: LimitsByPayer


async def _close(tx: Transaction, closing: _Closing) -> Complete | Incident | Postpone | OfAnother:
    """End the claim, unless it is another's, its payer may be taking it, or the wish was for another wait."""
    claim = await tx.claims.lock(closing.given.claim_id)
    if claim is None:
        return Complete()
    if other := of_another(claim.standing(None), closing.process):
        return other
    return await _not_now(tx, closing, claim) or await _end(tx, closing, claim)


async def _not_now(tx: Transaction, closing: _Closing, claim: ClaimRow) -> Incident | Postpone | None:
    if closing.state is ClaimState.ACCEPTED:
        return None
    longest = closing.limits.of(claim.payer_id).lease
    if sending := await under_way(tx, claim, closing.now, longest=longest):
        return sending
    asked = closing.given.cancelled_wait if closing.state is ClaimState.CANCELLED else None
    is_meant = asked is None or claim.state.is_final or asked == await wait_of(tx, claim)
    return None if is_meant else _another_wait(claim)


async def _end(tx: Transaction, closing: _Closing, claim: ClaimRow) -> Complete:
    given, state, now = closing.given, closing.state, closing.now
    changes = {"protocol_number": given.protocol_number} if given.protocol_number else {}
    if await tx.claims.close(given.claim_id, state, now=now, reason=None, **changes):
        ordered = await _order(tx, closing, claim)
        why = f"closed on order: {ordered}" if ordered else "closed by a message without an order on record"
        await tx.journal.write(given.claim_id, state.lower(), why, now=now)
        order_id = ordered.order_id if ordered else None
        end = ClaimEnd(state, closing.job_key, now, given.protocol_number, order_id)
        await tx.outbox.add(closed(claim, end))
    await tx.payers.release(given.claim_id)
    return Complete()


async def _order(tx: Transaction, closing: _Closing, claim: ClaimRow) -> KeptOrder | None:
    """The order that the message named, else one to end the claim so that was given in this very wait."""
    order_id, fits = closing.given.closing_order_id, ENDED_BY[closing.state]
    if order_id is None:
        return await tx.orders.latest_of_claim(claim.claim_id, fits, since=claim.updated_at)
    named = await tx.orders.of_claim(order_id, claim.claim_id)
    return named if named and named.action in fits else None


def _another_wait(claim: ClaimRow) -> Incident:
    """Models of earlier versions come here; ours looks by itself and waits on."""
    return Incident(
        f"{claim.claim_id} is not cancelled: the cancellation was for an earlier wait, and the claim went on "
        f"since. It is {claim.state}. `reenvio claim cancel {claim.claim_id}` cancels it now; to let it "
        "go on, move the token back to the gateway before the wait in Operate."
    )
