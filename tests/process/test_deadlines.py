"""Deadlines on a real broker: a claim near its deadline reaches a person in time."""

from datetime import timedelta

from bpmn.names import ProcessId, ReviewDecision
from domain.claim_state import ClaimState
from domain.operators import Attribution
from domain.outputs import iso_time
from gateways.practice.scripted import AcceptLine, FailLine
from tests.process.stage import Stage
from workers.claims.deadlines import ClaimDeadlines
from workers.payers.orders import Orders

DOWN = FailLine(error="SERVICE_UNAVAILABLE", code="HTTP:503")


async def test_a_claim_near_its_deadline_goes_to_billing_management_with_the_reason(working: Stage) -> None:
    deadline = await working.clock.now() + timedelta(hours=4, minutes=1)
    claim = await working.start(DOWN, deadline=iso_time(deadline))
    row = await working.reaches(claim, ClaimState.IN_REVIEW)
    assert row.retry_count == 0
    await working.completes(claim, "Task_OpenReview")
    variables = working.records.variables(claim.instance)
    assert (variables["reviewReason"], variables["cause"]) == ("MAX_RETRIES_EXCEEDED", "DEADLINE")
    assert variables["retryReason"].startswith(f"Deadline {iso_time(deadline)} leaves no time for a retry")
    async with working.app.store.transaction() as tx:
        [notice] = await tx.notices.of_claim(claim.id.value)
        [review] = await tx.reviews.of_claim(claim.id.value)
    assert notice.recipient == "BILLING_MANAGEMENT"
    assert review.detail == f"{variables['retryReason']}: SERVICE_UNAVAILABLE (HTTP:503)"
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


async def test_the_cause_of_one_round_is_not_told_as_that_of_the_next(working: Stage) -> None:
    deadline = await working.clock.now() + timedelta(hours=4, minutes=1)
    refused = FailLine(error="INVALID_PROCEDURE_CODE")
    claim = await working.start(DOWN, refused, deadline=iso_time(deadline))
    await working.reaches(claim, ClaimState.IN_REVIEW)
    await working.app.messages.decide_review(claim.id, ReviewDecision.RESEND)
    await working.completes(claim, "Task_NotifyTeam")
    variables = working.records.variables(claim.instance)
    assert (variables["errorClassification"], variables["cause"]) == ("PERMANENT", None)


async def test_an_analysis_passes_on_what_ran_out(working: Stage) -> None:
    near = iso_time(await working.clock.now() + timedelta(hours=4))
    for cause, count, deadline in (("RETRIES", 5, None), ("DEADLINE", 0, near)):
        claim = await working.run(
            ProcessId.SUB_06_ANALYZE, retryCount=count, deadline=deadline, submissionError="TIMEOUT"
        )
        await working.completes(claim, "End_ReviewNeeded")
        assert working.records.variables(claim.instance)["cause"] == cause


async def test_a_claim_held_to_its_deadline_was_never_submitted(working: Stage) -> None:
    now = await working.clock.now()
    payer = "held-to-the-deadline"
    orders = Orders(working.app.store, working.app.payer_limits, working.app.waker())
    await working.reaches(await working.run(ProcessId.SUB_06, payerId=payer), ClaimState.ACCEPTED)
    await orders.pause(payer, now, reason="HTTP 401")
    deadline = iso_time(now + timedelta(hours=3))
    claim = await working.run(ProcessId.SUB_06, payerId=payer, deadline=deadline)
    await working.reaches(claim, ClaimState.IN_REVIEW)
    await working.completes(claim, "Task_OpenReview")
    variables = working.records.variables(claim.instance)
    assert (variables["reviewReason"], variables["cause"]) == ("MAX_RETRIES_EXCEEDED", "DEADLINE")
    assert variables["lastSubmissionTime"] is None
    assert working.payers.sends(claim.id) == 0


ANA = Attribution("ana on desk-1", "the payer moved it")


def deadlines(working: Stage) -> ClaimDeadlines:
    app = working.app
    return ClaimDeadlines(app.store, app.commands, app.clock, app.policy.current)


async def test_a_changed_deadline_is_what_the_next_decision_goes_by(working: Stage) -> None:
    near = await working.clock.now() + timedelta(hours=4, minutes=1)
    claim = await working.start(DOWN, DOWN, AcceptLine(), deadline=iso_time(near))
    await working.reaches(claim, ClaimState.IN_REVIEW)  # as it was, no retry fitted
    changed = await deadlines(working).change(claim.id, "48h", ANA)
    assert (changed.is_woken, changed.claim.deadline) == (False, changed.change.after)
    assert changed.change.before == near.replace(microsecond=0)  # as its process has told
    await working.app.messages.decide_review(claim.id, ReviewDecision.RESEND)
    await working.reaches(claim, ClaimState.WAITING, retry_count=1)  # now one does
    assert changed.change.after
    assert working.records.variables(claim.instance)["deadline"] == iso_time(changed.change.after)
    async with working.app.store.transaction() as tx:
        newest = (await tx.decisions.of_claims([claim.id.value]))[-1]
    assert newest.deadline == changed.change.after
    await working.pass_the_wait(claim)
    await working.reaches(claim, ClaimState.ACCEPTED)


async def test_a_wait_that_a_nearer_deadline_leaves_no_time_for_is_cut_and_set_back_no_more(
    working: Stage,
) -> None:
    claim = await working.start(DOWN, DOWN, retryCount=3)
    waiting = await working.reaches(claim, ClaimState.WAITING, retry_count=4)
    changed = await deadlines(working).change(claim.id, "4h", ANA)
    assert changed.is_woken
    await working.reaches(claim, ClaimState.IN_REVIEW)  # sent at once, and no time is left for another
    assert working.payers.sends(claim.id) == 2
    assert waiting.next_retry_time
    assert await working.clock.now() < waiting.next_retry_time
    await working.completes(claim, "Task_OpenReview")
    assert working.records.variables(claim.instance)["cause"] == "DEADLINE"
    async with working.app.store.transaction() as tx:
        [order] = await tx.orders.about_claim(claim.id.value)
    back = await deadlines(working).undo(claim.id, order.order_id, Attribution(ANA.by, "undone"))
    assert (back.claim.deadline, back.is_woken) == (None, False)
    async with working.app.store.transaction() as tx:
        reasons = [one.reason for one in await tx.orders.about_claim(claim.id.value)]
    assert [reason.split(" ")[0] for reason in reasons] == ["the", "undone"]
