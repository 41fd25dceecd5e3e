"""On a real broker: one process sends a claim, and a cancellation ends the wait it was meant for."""

from datetime import timedelta
from typing import Any

from pyzeebe.proto.gateway_pb2 import CancelProcessInstanceRequest
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from bpmn.names import Message, ProcessId, Variable
from domain.claim_state import ClaimState
from domain.reviews import ReviewDecision
from gateways.practice.scripted import AcceptLine, FailLine
from gateways.zeebe.messages import ProcessMessage
from tests.process.stage import Claim, Stage, eventually

TIMEOUT = FailLine(error="TIMEOUT - Connection timeout after 30s")
BAD_PROCEDURE = FailLine(error="INVALID_PROCEDURE_CODE", code="TISS:1801")
KEPT = timedelta(minutes=10)


async def cancelled(stage: Stage, claim: Claim, wait: str | None) -> None:
    """A cancellation of one wait, however late it arrives."""
    variables = {Variable.CANCELLED_WAIT: wait}
    message = ProcessMessage(Message.CLAIM_CANCELLED, claim.id.value, variables, KEPT)
    await stage.app.commands.publish(message)


async def test_a_cancellation_of_an_earlier_wait_leaves_the_claim_to_its_time(
    working: Stage,
) -> None:
    claim = await working.start(TIMEOUT, TIMEOUT, AcceptLine())
    first = await working.reaches(claim, ClaimState.WAITING, retry_count=1)
    assert first.next_retry_time
    await working.pass_the_wait(claim)
    await working.reaches(claim, ClaimState.WAITING, retry_count=2)
    await cancelled(working, claim, f"{first.next_retry_time:%Y-%m-%dT%H:%M:%SZ}")
    await working.completes(claim, "Gateway_WhichWait")
    await working.pass_the_wait(claim)
    await working.reaches(claim, ClaimState.ACCEPTED)
    assert "End_ClaimCancelled" not in await working.ended(claim)


async def test_a_cancellation_of_an_earlier_review_leaves_the_claim_in_review(working: Stage) -> None:
    claim = await working.start(BAD_PROCEDURE, BAD_PROCEDURE)
    await working.reaches(claim, ClaimState.IN_REVIEW)
    await working.app.messages.decide_review(claim.id, ReviewDecision.RESEND)

    async def second_review() -> bool | None:
        async with working.app.store.reading() as tx:
            return len(await tx.reviews.of_claim(claim.id.value)) == 2 or None

    await eventually(second_review, f"the second review of {claim.id}")
    await cancelled(working, claim, "review-0")
    await working.completes(claim, "Gateway_WhichReview")
    await working.app.messages.cancel(claim.id)
    await working.reaches(claim, ClaimState.CANCELLED)
    assert (await working.ended(claim))[-1] == "End_ClaimCancelledInReview"


async def test_a_cancellation_that_names_no_wait_ends_any(working: Stage) -> None:
    claim = await working.start(TIMEOUT)
    await working.reaches(claim, ClaimState.WAITING)
    await cancelled(working, claim, None)
    await working.reaches(claim, ClaimState.CANCELLED)


async def test_a_second_process_stands_still_until_the_first_is_gone(working: Stage) -> None:
    first = await working.start(TIMEOUT, AcceptLine())
    await working.reaches(first, ClaimState.WAITING)
    second = await working.run(ProcessId.SUB_06, first.id, payerId="payer-1")
    incident = await working.incident(second)
    assert f"is sent by process instance {first.instance}" in incident.value["errorMessage"]
    assert working.payers.sends(first.id) == 1

    stub: Any = GatewayStub(working.app.channel)
    await stub.CancelProcessInstance(CancelProcessInstanceRequest(processInstanceKey=first.instance))
    await working.mend(second, incident)
    row = await working.reaches(first, ClaimState.ACCEPTED)
    assert row.process_instance_key == second.instance
    assert (await working.ended(second))[-1] == "End_ClaimAccepted"


async def test_a_second_process_of_an_accepted_claim_gets_its_protocol(working: Stage) -> None:
    first = await working.start(AcceptLine())
    row = await working.reaches(first, ClaimState.ACCEPTED)
    second = await working.run(ProcessId.SUB_06, first.id, payerId="payer-1")
    assert (await working.ended(second))[-1] == "End_ClaimAccepted"
    assert working.records.variables(second.instance)["protocolNumber"] == row.protocol_number
    assert working.payers.sends(first.id) == 1
