"""A final state is final: no ended claim is sent, one process sends a claim, and late answers undo none."""

import asyncio
from collections import Counter
from datetime import datetime, timedelta

import pytest
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from domain.retention import Periods
from domain.reviews import AtPayer
from domain.submission import Accepted, AccessDenied, AnswerLost, Duplicate, Failed, SendResult, Submission
from persistence.repositories.claims import Arrival
from persistence.store import Store
from persistence.tables import submission_attempts
from tests.security.two_processes import CLAIM, CLOSE, DECIDE, FIRST, PAYER, REVIEW, SECOND, SEND, Desk, Payer
from tests.support.builders import NOW, later
from workers.claims.finding import whether_at_payer
from workers.runtime import Complete, Fail, Incident, Throw
from workers.runtime.outcome import Postpone
from workers.upkeep.retention import apply

FAILED = Failed("TIMEOUT - connection", "HTTP:408")
LOST = AnswerLost("TIMEOUT - no answer", "NET:READ_TIMEOUT")
DENIED = AccessDenied("UNAUTHORIZED - refused", "HTTP:401")
AFTER_EVERY_LEASE = timedelta(minutes=6)
ends_by_people = pytest.mark.parametrize("end", ["CANCELLED", "WRITTEN_OFF"])


class PromptPayer(Payer):
    """Takes whatever comes, at once."""

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        self.requests.append((submission, asyncio.get_running_loop().create_future()))
        return Accepted(f"P-{len(self.requests)}")


@pytest.fixture
def desk(store: Store) -> Desk:
    return Desk(store)


async def test_an_accepted_claim_is_not_sent_again_and_a_second_process_gets_its_protocol(desk: Desk) -> None:
    told = await desk.send(desk.job(SEND, FIRST), Accepted("P-1"))
    again = await desk.do(desk.job(SEND, SECOND))
    assert told == again == Complete({"protocolNumber": "P-1"})
    assert desk.sends == 1
    assert (await desk.row()).state is ClaimState.ACCEPTED


@ends_by_people
@pytest.mark.parametrize("process", [FIRST, SECOND])
async def test_a_claim_that_people_ended_is_never_sent_and_the_incident_says_why(
    desk: Desk, end: str, process: int
) -> None:
    await desk.send(desk.job(SEND, FIRST), FAILED)
    await desk.do(desk.job(CLOSE, FIRST, outcome=end))
    for _ in range(5):  # however often somebody retries it
        outcome = await desk.do(desk.job(SEND, process, retryCount=1))
        assert isinstance(outcome, Incident)
        assert f"{CLAIM} is {end}" in outcome.message
    assert desk.sends == 1
    assert (await desk.row()).state == end


async def test_a_second_process_does_not_send_while_the_first_may(desk: Desk) -> None:
    await desk.send(desk.job(SEND, FIRST), FAILED)
    before = await desk.row()
    outcome = await desk.do(desk.job(SEND, SECOND))
    assert isinstance(outcome, Incident)
    assert f"process instance {FIRST}" in outcome.message
    assert desk.sends == 1
    assert await desk.row() == before


async def test_a_process_takes_over_from_one_that_the_engine_does_not_run_any_more(desk: Desk) -> None:
    await desk.send(desk.job(SEND, FIRST), FAILED)
    desk.gone.add(FIRST)
    assert await desk.send(desk.job(SEND, SECOND), Accepted("P-1")) == Complete({"protocolNumber": "P-1"})
    assert (await desk.row()).process_instance_key == SECOND
    assert await desk.story() == ["failed", "taken_over", "accepted"]


async def test_while_the_engine_does_not_say_whether_the_first_runs_the_second_waits(desk: Desk) -> None:
    await desk.send(desk.job(SEND, FIRST), FAILED)
    desk.engine_is_away = True
    for _ in range(5):  # at no cost to the job
        assert isinstance(await desk.do(desk.job(SEND, SECOND)), Postpone)
    desk.engine_is_away, desk.gone = False, {FIRST}
    assert isinstance(await desk.send(desk.job(SEND, SECOND), Accepted("P-1")), Complete)


async def test_no_send_begins_while_another_of_the_claim_is_under_way(desk: Desk) -> None:
    first = await desk.begin(desk.job(SEND, FIRST))
    desk.gone.add(FIRST)
    outcome = await desk.do(desk.job(SEND, SECOND))
    assert isinstance(outcome, Postpone)
    assert desk.sends == 1
    desk.payer.answer(1, Accepted("P-1"))
    await first
    assert await desk.do(desk.job(SEND, SECOND)) == Complete({"protocolNumber": "P-1"})


async def test_being_told_to_wait_costs_no_try(desk: Desk) -> None:
    first = await desk.begin(desk.job(SEND, FIRST))
    for count in range(6):  # same process, other inputs: as a model that asks twice would
        assert isinstance(await desk.do(desk.job(SEND, FIRST, retryCount=1)), Postpone), count
    desk.payer.answer(1, FAILED)
    await first
    assert isinstance(await desk.send(desk.job(SEND, FIRST, retryCount=1), Accepted("P-1")), Complete)


@pytest.mark.parametrize("late", [FAILED, LOST, Duplicate("TISS:3268"), DENIED])
async def test_a_late_answer_of_an_earlier_send_overwrites_nothing_newer(
    desk: Desk, late: SendResult
) -> None:
    first = await desk.begin(desk.job(SEND, FIRST))
    desk.moment = NOW + AFTER_EVERY_LEASE  # its worker is suspended
    await desk.send(desk.job(SEND, FIRST), FAILED)
    await desk.do(desk.job(DECIDE, FIRST, submissionError="TIMEOUT", retryCount=0))
    before = await desk.row()
    assert before.state is ClaimState.WAITING
    desk.payer.answer(1, late)
    await first
    assert await desk.row() == before
    async with desk.store.reading() as tx:
        sends = (await tx.attempts.history(CLAIM)).sends
    assert all(send.outcome for send in sends)


async def test_a_late_acceptance_is_a_fact_and_the_process_is_told_its_number(desk: Desk) -> None:
    first = await desk.begin(desk.job(SEND, FIRST))
    desk.moment = NOW + AFTER_EVERY_LEASE
    second = await desk.begin(desk.job(SEND, FIRST))
    desk.payer.answer(1, Accepted("P-1"))
    await first
    desk.payer.answer(2, Duplicate("TISS:3268"))
    assert await second == Complete({"protocolNumber": "P-1"})
    row = await desk.row()
    assert (row.state, row.protocol_number) == (ClaimState.ACCEPTED, "P-1")


async def test_a_claim_that_is_taken_twice_keeps_its_number_and_people_read_of_the_other(desk: Desk) -> None:
    first = await desk.begin(desk.job(SEND, FIRST))
    desk.moment = NOW + AFTER_EVERY_LEASE
    await desk.send(desk.job(SEND, FIRST), Accepted("P-2"))
    desk.payer.answer(1, Accepted("P-1"))
    await first
    assert (await desk.row()).protocol_number == "P-2"
    async with desk.store.reading() as tx:
        [again] = [one for one in await tx.journal.of_claim(CLAIM) if one.event == "accepted_again"]
    assert "P-1" in again.detail


async def test_a_process_is_told_the_number_that_its_claim_keeps(desk: Desk) -> None:
    first = await desk.begin(desk.job(SEND, FIRST))
    desk.moment = NOW + AFTER_EVERY_LEASE
    second = await desk.begin(desk.job(SEND, FIRST))
    desk.payer.answer(1, Accepted("P-1"))
    await first
    desk.payer.answer(2, Accepted("P-2"))
    assert await second == Complete({"protocolNumber": "P-1"})


async def test_a_late_acceptance_that_the_payer_has_cancelled_since_is_none(desk: Desk) -> None:
    first = await desk.begin(desk.job(SEND, FIRST))
    desk.moment = NOW + AFTER_EVERY_LEASE
    second = await desk.begin(desk.job(SEND, FIRST))
    async with desk.store.transaction() as tx:
        await tx.attempts.undo(CLAIM, before=2, now=desk.moment)
    desk.payer.answer(1, Accepted("P-1"))
    await first
    assert (await desk.row()).state is ClaimState.SUBMITTING
    desk.payer.answer(2, Accepted("P-2"))
    await second
    assert (await desk.row()).protocol_number == "P-2"


async def test_a_claim_whose_acceptance_came_while_a_person_had_it_is_not_sent_again(desk: Desk) -> None:
    await accepted_in_review(desk)
    assert (await desk.row()).state is ClaimState.IN_REVIEW
    resent = await desk.do(desk.job(SEND, FIRST, reviewRound=1))
    assert resent == Complete({"protocolNumber": "P-1"})
    assert desk.sends == 2
    assert (await desk.row()).state is ClaimState.ACCEPTED


async def accepted_in_review(desk: Desk) -> None:
    """An acceptance that comes while a person has the claim."""
    first = await desk.begin(desk.job(SEND, FIRST))
    desk.moment = NOW + AFTER_EVERY_LEASE
    await desk.send(desk.job(SEND, FIRST), FAILED)
    await desk.do(desk.job(REVIEW, FIRST, reviewReason="PERMANENT_ERROR"))
    desk.payer.answer(1, Accepted("P-1"))
    await first


@pytest.mark.parametrize("days", [100, 20_000])
async def test_an_acceptance_is_remembered_for_as_long_as_its_claim_is_open(desk: Desk, days: int) -> None:
    await accepted_in_review(desk)
    desk.moment = NOW + timedelta(days=days)
    await apply(desk.store, Periods(), desk.moment)
    async with desk.store.reading() as tx:
        assert await whether_at_payer(tx, CLAIM) is AtPayer.YES
    resent = await desk.do(desk.job(SEND, FIRST, reviewRound=1))
    assert resent == Complete({"protocolNumber": "P-1"})
    assert desk.sends == 2


@pytest.mark.parametrize("days", [100, 20_000])
async def test_so_is_a_send_that_may_have_arrived(desk: Desk, days: int) -> None:
    await desk.send(desk.job(SEND, FIRST), LOST)
    await desk.do(desk.job(REVIEW, FIRST, reviewReason="PROTOCOL_MISSING"))
    await apply(desk.store, Periods(), NOW + timedelta(days=days))
    async with desk.store.reading() as tx:
        assert await whether_at_payer(tx, CLAIM) is AtPayer.YES
        assert (await tx.attempts.history(CLAIM)).answer_was_lost


async def test_an_acceptance_whose_facts_an_earlier_version_removed_still_bars_the_send(
    desk: Desk, database: AsyncEngine
) -> None:
    await accepted_in_review(desk)
    async with database.begin() as connection:
        await connection.execute(update(submission_attempts).values(result=None))
    resent = await desk.do(desk.job(SEND, FIRST, reviewRound=1))
    assert resent == Complete({"protocolNumber": "P-1"})


async def test_what_proves_an_arrival_goes_when_its_claim_has_ended(desk: Desk) -> None:
    await desk.send(desk.job(SEND, FIRST), Accepted("P-1"))
    removed = await apply(desk.store, Periods(), NOW + timedelta(days=100))
    assert removed["payloads of sends"] == 1


async def test_a_job_from_before_a_review_does_not_send_what_a_person_has(desk: Desk) -> None:
    stale = desk.job(SEND, FIRST, retryCount=1)
    await desk.send(desk.job(SEND, FIRST), FAILED)
    await desk.do(desk.job(REVIEW, FIRST, reviewReason="PERMANENT_ERROR"))
    assert isinstance(await desk.do(stale), Postpone)
    assert desk.sends == 1
    assert (await desk.row()).state is ClaimState.IN_REVIEW
    assert isinstance(await desk.send(desk.job(SEND, FIRST, reviewRound=1), Accepted("P-1")), Complete)


@ends_by_people
async def test_a_review_that_people_open_again_lets_an_ended_claim_be_sent(desk: Desk, end: str) -> None:
    await desk.send(desk.job(SEND, FIRST), FAILED)
    await desk.do(desk.job(CLOSE, FIRST, outcome=end))
    assert isinstance(await desk.do(desk.job(REVIEW, SECOND, reviewReason="PERMANENT_ERROR")), Complete)
    assert isinstance(await desk.send(desk.job(SEND, SECOND, reviewRound=1), Accepted("P-1")), Complete)


async def test_a_decision_of_another_process_does_not_move_our_claim(desk: Desk) -> None:
    await desk.send(desk.job(SEND, FIRST), FAILED)
    await desk.do(desk.job(DECIDE, FIRST, submissionError="TIMEOUT", retryCount=0))
    before = await desk.row()
    desk.moment = later(seconds=30)
    outcome = await desk.do(desk.job(DECIDE, SECOND, submissionError="INVALID_PROCEDURE_CODE", retryCount=4))
    assert isinstance(outcome, Throw)  # it stands alone and gets its answer
    assert await desk.row() == before


async def test_a_decision_of_another_process_keeps_no_received_claim_from_its_start(desk: Desk) -> None:
    arrival = Arrival(CLAIM, PAYER, later(hours=9), "c" * 64, "7")
    await desk.store.run(lambda tx: tx.claims.receive_all([(arrival, NOW)]))
    await desk.do(desk.job(DECIDE, SECOND, submissionError="TIMEOUT", retryCount=0))
    assert (await desk.row()).state is ClaimState.RECEIVED


@pytest.mark.parametrize("job_type", [REVIEW, CLOSE])
async def test_another_process_neither_reviews_nor_closes_our_claim(desk: Desk, job_type: str) -> None:
    await desk.send(desk.job(SEND, FIRST), FAILED)
    before = await desk.row()
    job = desk.job(job_type, SECOND, outcome="WRITTEN_OFF", reviewReason="PERMANENT_ERROR")
    outcome = await desk.do(job)
    assert isinstance(outcome, Incident)
    assert f"process instance {FIRST}" in outcome.message
    assert await desk.row() == before


@pytest.mark.parametrize("job_type", [REVIEW, CLOSE])
async def test_another_process_does_not_undo_an_acceptance(desk: Desk, job_type: str) -> None:
    await desk.send(desk.job(SEND, FIRST), Accepted("P-1"))
    before = await desk.row()
    await desk.do(desk.job(job_type, SECOND, outcome="WRITTEN_OFF", reviewReason="PERMANENT_ERROR"))
    assert await desk.row() == before


@ends_by_people
async def test_a_claim_is_not_ended_while_its_payer_may_be_taking_it(desk: Desk, end: str) -> None:
    first = await desk.begin(desk.job(SEND, FIRST))
    closing = desk.job(CLOSE, FIRST, outcome=end)
    assert isinstance(await desk.do(closing), Postpone)
    desk.payer.answer(1, Accepted("P-1"))
    await first
    await desk.do(closing)
    assert (await desk.row()).state is ClaimState.ACCEPTED


async def test_however_jobs_of_two_processes_meet_none_is_locked_out_and_one_batch_arrives(
    store: Store,
) -> None:
    desk = Desk(store, payer=PromptPayer())
    for number in range(20):
        claim = f"CLM-RACE-{number}"
        sends = [desk.job(SEND, process, claimId=claim, retryCount=0) for process in (FIRST, SECOND) * 2]
        others = [
            desk.job(DECIDE, FIRST, claimId=claim, submissionError="TIMEOUT", retryCount=0),
            desk.job(REVIEW, SECOND, claimId=claim, reviewReason="PERMANENT_ERROR"),
            desk.job(CLOSE, FIRST, claimId=claim, outcome="CANCELLED"),
        ]
        jobs = [*sends, *others]
        outcomes = await asyncio.gather(*(desk.handlers[job.type].handle(job) for job in jobs))
        assert not [outcome for outcome in outcomes if isinstance(outcome, Fail)]
    arrived = Counter(sent.claim_id for sent, _ in desk.payer.requests)
    assert not [claim for claim, times in arrived.items() if times > 1]
