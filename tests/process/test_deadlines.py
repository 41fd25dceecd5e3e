"""Deadlines on a real broker: a claim near its deadline reaches a person in time."""

from datetime import timedelta

from bpmn.names import ReviewDecision
from domain.claim_state import ClaimState
from domain.outputs import iso_time
from gateways.practice.scripted import AcceptLine, FailLine
from tests.process.stage import Stage

DOWN = FailLine(error="SERVICE_UNAVAILABLE", code="HTTP:503")


async def test_a_claim_near_its_deadline_goes_to_billing_management_with_the_reason(working: Stage) -> None:
    deadline = await working.clock.now() + timedelta(hours=4, minutes=1)
    claim = await working.start(DOWN, deadline=iso_time(deadline))
    row = await working.reaches(claim, ClaimState.IN_REVIEW)
    assert row.retry_count == 0
    await working.completes(claim, "Task_OpenReview")
    variables = working.records.variables(claim.instance)
    assert variables["reviewReason"] == "MAX_RETRIES_EXCEEDED"
    assert variables["retryReason"].startswith(f"Deadline {iso_time(deadline)} leaves no time for a retry")
    async with working.app.store.transaction() as tx:
        [notice] = await tx.notices.of_claim(claim.id.value)
        [review] = await tx.reviews.of_claim(claim.id.value)
    assert notice.recipient == "BILLING_MANAGEMENT"
    assert review.detail == f"{variables['retryReason']}: SERVICE_UNAVAILABLE"
    assert working.payers.sends(claim.id) == 1


async def test_a_retry_is_moved_up_then_a_person_resends_what_still_fails(working: Stage) -> None:
    deadline = await working.clock.now() + timedelta(hours=4, minutes=8)
    claim = await working.start(DOWN, DOWN, AcceptLine(), retryCount=3, deadline=iso_time(deadline))
    row = await working.reaches(claim, ClaimState.WAITING, retry_count=4)
    assert row.next_retry_time is not None
    begins = deadline - timedelta(hours=4)
    assert begins - timedelta(minutes=3) <= row.next_retry_time <= begins
    await working.pass_the_wait(claim)
    await working.reaches(claim, ClaimState.IN_REVIEW)
    await working.app.messages.decide_review(claim.id, ReviewDecision.RESEND)
    await working.reaches(claim, ClaimState.ACCEPTED)
    assert working.payers.sends(claim.id) == 3
