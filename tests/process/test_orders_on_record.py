"""Who ended a claim, on a real broker: the order's id goes the whole way from the message to the journal."""

from datetime import timedelta

from bpmn.names import Message, ReviewDecision
from domain.claim_state import ClaimState
from domain.operators import CANCEL, review_action
from gateways.practice.scripted import FailLine
from gateways.zeebe.messages import ProcessMessage
from persistence.repositories.operator_orders import OperatorOrder
from tests.process.stage import Claim, Stage

REFUSED = FailLine(error="INVALID_PROCEDURE_CODE", code="TISS:1801")
TIMEOUT = FailLine(error="TIMEOUT - Connection timeout after 30s")
WRITE_OFF, RESEND = (review_action(d) for d in (ReviewDecision.WRITE_OFF, ReviewDecision.RESEND))


async def kept(working: Stage, claim: Claim, action: str, by: str) -> int:
    """An order on record; its id."""
    order, now = OperatorOrder(action, by, "agreed", claim.id.value), await working.clock.now()
    return await working.app.store.run(lambda tx: tx.orders.keep(order, now=now))


async def last_line(working: Stage, claim: Claim) -> str:
    return (await working.app.store.look(lambda tx: tx.journal.of_claim(claim.id.value)))[-1].detail


async def test_of_two_orders_the_one_that_was_carried_out_is_named(working: Stage) -> None:
    claim = await working.start(REFUSED)
    await working.reaches(claim, ClaimState.IN_REVIEW)
    order_id = await kept(working, claim, WRITE_OFF, "ana on desk-1")
    await kept(working, claim, WRITE_OFF, "bia on desk-2")
    await working.app.messages.decide_review(claim.id, ReviewDecision.WRITE_OFF, order_id=order_id)
    await working.reaches(claim, ClaimState.WRITTEN_OFF)
    assert await last_line(working, claim) == f"closed on order: {WRITE_OFF} by ana on desk-1: agreed"


async def test_a_cancellation_names_its_order(working: Stage) -> None:
    claim = await working.start(REFUSED)
    await working.reaches(claim, ClaimState.IN_REVIEW)
    order_id = await kept(working, claim, CANCEL, "ana on desk-1")
    await working.app.messages.cancel(claim.id, order_id=order_id)
    await working.reaches(claim, ClaimState.CANCELLED)
    assert "cancel by ana on desk-1" in await last_line(working, claim)


async def test_an_order_that_was_carried_out_before_is_not_named_for_a_message_without_one(
    working: Stage,
) -> None:
    claim = await working.start(REFUSED, TIMEOUT)
    await working.reaches(claim, ClaimState.IN_REVIEW)
    order_id = await kept(working, claim, RESEND, "ana on desk-1")
    await working.app.messages.decide_review(claim.id, ReviewDecision.RESEND, order_id=order_id)
    await working.reaches(claim, ClaimState.WAITING)
    others = ProcessMessage(Message.CLAIM_CANCELLED, claim.id.value, {}, timedelta(minutes=1))
    await working.app.commands.publish(others)
    await working.reaches(claim, ClaimState.CANCELLED)
    assert await last_line(working, claim) == "closed by a message without an order on record"
