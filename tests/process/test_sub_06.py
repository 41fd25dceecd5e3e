"""SUB_06 on a real broker: what happens to claims whose sending fails."""

from datetime import timedelta

import pytest

from bpmn.names import ProcessId, ReviewDecision
from domain.claim_state import ClaimState
from domain.payer_status import PayerState, PayerStatus
from gateways.practice.scripted import AcceptLine, DuplicateLine, FailLine, LoseAnswerLine
from persistence.store import Transaction
from tests.process.stage import Stage

TIMEOUT = FailLine(error="TIMEOUT - Connection timeout after 30s")
DOWN = FailLine(error="SERVICE_UNAVAILABLE", code="HTTP:503")
BAD_PROCEDURE = FailLine(error="INVALID_PROCEDURE_CODE", code="TISS:1801")


async def test_a_claim_that_is_taken_at_once_is_sent_once(working: Stage) -> None:
    claim = await working.start(AcceptLine())
    row = await working.reaches(claim, ClaimState.ACCEPTED)
    assert row.protocol_number
    assert working.payers.sends(claim.id) == 1


async def test_a_transient_error_waits_on_the_timer_and_then_succeeds(working: Stage) -> None:
    claim = await working.start(TIMEOUT, AcceptLine())
    waiting = await working.reaches(claim, ClaimState.WAITING, retry_count=1)
    assert waiting.next_retry_time is not None
    assert (
        timedelta(minutes=5)
        <= waiting.next_retry_time - waiting.updated_at
        <= timedelta(minutes=6, seconds=1)
    )
    assert working.payers.sends(claim.id) == 1

    await working.pass_the_wait(claim)

    await working.reaches(claim, ClaimState.ACCEPTED)
    assert await working.events(claim) == ["failed", "retry_scheduled", "accepted"]
    assert (await working.ended(claim))[-1] == "End_ClaimAccepted"


@pytest.mark.parametrize(
    ("line", "team"),
    [
        (BAD_PROCEDURE, "BILLING_MANAGEMENT"),  # RN-BIL-004 9.2
        (FailLine(error="INVALID_PATIENT_DATA - CPF inválido"), "REGISTRATION"),  # RN-BIL-005 9.3
        (FailLine(error="MESSAGE_INVALID - schema", code="FAULT:SchemaInvalido"), "OPERATIONS"),
        (FailLine(error="TISS 9999"), "BILLING_MANAGEMENT"),
    ],
    ids=["procedure", "patient", "schema", "unknown refusal"],
)
async def test_a_permanent_error_reaches_the_team_of_its_entry_without_a_retry(
    working: Stage, line: FailLine, team: str
) -> None:
    claim = await working.start(line)
    await working.reaches(claim, ClaimState.IN_REVIEW)
    async with working.app.store.transaction() as tx:
        [notice] = await tx.notices.of_claim(claim.id.value)
        [review] = await tx.reviews.of_claim(claim.id.value)
    assert (notice.recipient, notice.template) == (team, "permanent-error")
    assert review.reason == "PERMANENT_ERROR"
    assert review.team == team
    assert working.records.variables(claim.instance)["responsibleTeam"] == team
    assert working.payers.sends(claim.id) == 1
    assert "End_ClaimAccepted" not in working.records.completed(claim.instance)


async def test_five_retries_without_success_reach_billing_management(working: Stage) -> None:
    claim = await working.start(DOWN)
    for retry in range(1, 6):
        await working.reaches(claim, ClaimState.WAITING, retry_count=retry)
        await working.pass_the_wait(claim)
    row = await working.reaches(claim, ClaimState.IN_REVIEW)
    assert row.reason == "MAX_RETRIES_EXCEEDED"
    assert working.payers.sends(claim.id) == 6
    async with working.app.store.transaction() as tx:
        [notice] = await tx.notices.of_claim(claim.id.value)
        [review] = await tx.reviews.of_claim(claim.id.value)
    assert notice.recipient == "BILLING_MANAGEMENT"
    assert review.team == "BILLING_MANAGEMENT"


async def test_retry_now_wakes_a_waiting_claim_before_its_time(working: Stage) -> None:
    claim = await working.start(TIMEOUT, AcceptLine())
    waiting = await working.reaches(claim, ClaimState.WAITING)
    await working.app.messages.retry_now(claim.id)
    row = await working.reaches(claim, ClaimState.ACCEPTED)
    assert waiting.next_retry_time is not None
    assert row.updated_at < waiting.next_retry_time
    assert (await working.ended(claim))[-1] == "End_ClaimAccepted"


async def test_a_waiting_claim_can_be_cancelled(working: Stage) -> None:
    claim = await working.start(TIMEOUT)
    await working.reaches(claim, ClaimState.WAITING)
    await working.app.messages.cancel(claim.id)
    await working.reaches(claim, ClaimState.CANCELLED)
    assert (await working.ended(claim))[-1].startswith("End_ClaimCancelled")
    assert working.payers.sends(claim.id) == 1


async def test_a_claim_in_review_can_be_cancelled(working: Stage) -> None:
    claim = await working.start(BAD_PROCEDURE)
    await working.reaches(claim, ClaimState.IN_REVIEW)
    await working.app.messages.cancel(claim.id)
    await working.reaches(claim, ClaimState.CANCELLED)
    assert (await working.ended(claim))[-1].startswith("End_ClaimCancelled")


async def test_after_a_lost_answer_a_duplicate_means_it_arrived_and_billing_management_is_told(
    working: Stage,
) -> None:
    claim = await working.start(LoseAnswerLine(), DuplicateLine())
    await working.pass_the_wait(claim)
    row = await working.reaches(claim, ClaimState.IN_REVIEW)
    assert row.reason == "PROTOCOL_MISSING"
    assert working.payers.sends(claim.id) == 2
    async with working.app.store.transaction() as tx:
        [notice] = await tx.notices.of_claim(claim.id.value)
        [review] = await tx.reviews.of_claim(claim.id.value)
    assert (notice.recipient, notice.template) == ("BILLING_MANAGEMENT", "protocol-missing")
    assert review.team == "BILLING_MANAGEMENT"

    await working.app.messages.decide_review(
        claim.id, ReviewDecision.PROTOCOL_RECOVERED, protocol_number="000123456789"
    )
    row = await working.reaches(claim, ClaimState.ACCEPTED)
    assert row.protocol_number == "000123456789"
    assert working.payers.sends(claim.id) == 2


async def test_a_duplicate_without_a_lost_answer_is_a_permanent_error(working: Stage) -> None:
    claim = await working.start(DuplicateLine())
    row = await working.reaches(claim, ClaimState.IN_REVIEW)
    assert row.reason == "PERMANENT_ERROR"


async def test_a_payer_known_to_be_down_costs_no_attempt(working: Stage) -> None:
    now = await working.clock.now()
    reopens, payer = now + timedelta(hours=2), f"payer-{working.run_id}-closed"
    closed = PayerStatus(payer, now, PayerState.PAUSED, reason="planned maintenance", next_try_at=reopens)

    async def close(tx: Transaction) -> None:
        await tx.payers.lock(payer, now=now)
        await tx.payers.save(closed)

    await working.app.store.run(close)
    claim = await working.run(ProcessId.SUB_06, payerId=payer)
    waiting = await working.reaches(claim, ClaimState.WAITING, retry_count=0)
    assert waiting.next_retry_time is not None
    assert abs(waiting.next_retry_time - reopens) < timedelta(seconds=1)
    await working.pass_the_wait(claim)
    row = await working.reaches(claim, ClaimState.ACCEPTED)
    assert row.retry_count == 0


async def test_a_corrected_claim_starts_counting_again(working: Stage) -> None:
    claim = await working.start(TIMEOUT, BAD_PROCEDURE, TIMEOUT, AcceptLine())
    await working.pass_the_wait(claim)
    await working.reaches(claim, ClaimState.IN_REVIEW)
    await working.app.messages.decide_review(claim.id, ReviewDecision.CORRECTED)
    await working.reaches(claim, ClaimState.WAITING, retry_count=1)
    await working.pass_the_wait(claim)
    await working.reaches(claim, ClaimState.ACCEPTED)
    assert (await working.ended(claim))[-1] == "End_ClaimAccepted"


async def test_a_written_off_claim_ends(working: Stage) -> None:
    claim = await working.start(BAD_PROCEDURE)
    await working.reaches(claim, ClaimState.IN_REVIEW)
    await working.app.messages.decide_review(claim.id, ReviewDecision.WRITE_OFF)
    await working.reaches(claim, ClaimState.WRITTEN_OFF)
    assert (await working.ended(claim))[-1] == "End_ClaimWrittenOff"


async def test_starting_a_claim_twice_starts_it_once(working: Stage) -> None:
    claim_id = working.new_claim_id()
    assert await working.app.messages.start(claim_id, "payer-1")
    assert not await working.app.messages.start(claim_id, "payer-1")
