"""Admission of submit-claim to its payer: held without an attempt, stopped for credentials, woken in time."""

import json
from datetime import datetime, timedelta

import pytest

from domain.claim_state import ClaimState
from domain.errors import Trouble
from domain.payer_status import PayerLimits, PayerState, PlannedDowntime
from domain.submission import Accepted, AccessDenied, AnswerLost, Duplicate, Failed, SendResult, Submission
from gateways.tiss.settings import PayerSettings
from persistence.store import Store
from tests.support.builders import NOW, later
from tests.support.payer_stage import DOWN, PAYER, Scene
from tests.support.tiss_samples import payer as payer_settings
from workers.payers.limits import limits_by_payer, limits_from
from workers.payers.orders import StaysStopped, UnknownPayer
from workers.payers.status import overview
from workers.runtime import Complete, Fail, Incident, Job, Outcome, Throw

DENIED = AccessDenied("UNAUTHORIZED - login or password is wrong", "FAULT:LoginInvalido")


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store)


async def says_up(_settings: PayerSettings) -> bool:
    return True


def resume_at(outcome: Outcome) -> datetime:
    assert isinstance(outcome, Throw)
    assert outcome.code == "PAYER_UNAVAILABLE"
    return datetime.fromisoformat(outcome.variables["resumeAt"])


async def test_while_the_breaker_is_open_nothing_is_sent_and_no_attempt_is_written(scene: Scene) -> None:
    await scene.fail_twice()
    outcome = await scene.submit(1)
    assert resume_at(outcome) == later(minutes=5)
    assert await scene.submit(1) == outcome  # a redelivery
    assert scene.sent == ["CLM-D-101", "CLM-D-102"]
    async with scene.store.reading() as tx:
        claim = await tx.claims.find("CLM-D-1")
        assert claim
        assert (claim.state, claim.next_retry_time) == (ClaimState.WAITING, later(minutes=5))
        assert await tx.attempts.count("CLM-D-1") == 0
        assert await tx.attempts.of_job(1, "CLM-D-1") is None
        assert [entry.event for entry in await tx.journal.of_claim("CLM-D-1")] == ["payer_unavailable"]


async def test_on_recovery_those_that_waited_are_woken_by_deadline_and_go_at_their_slots(
    scene: Scene,
) -> None:
    scene.limits = PayerLimits(per_minute=60, threshold=2, needs_proof=False)
    scene.answer = DOWN
    for number in (101, 102):
        await scene.submit(number)
        scene.moment += timedelta(seconds=2)
    for number in range(1, 5):
        await scene.submit(number, deadline=later(hours=30 - number).isoformat())
    scene.moment, scene.answer = later(minutes=2), Accepted("P-1")
    scene.settings = {PAYER: payer_settings()}
    assert await scene.probing(says_up).all(scene.moment) == 1
    assert await scene.submit(4) == Complete({"protocolNumber": "P-1"})
    assert scene.woken == ["CLM-D-4", "CLM-D-3", "CLM-D-2", "CLM-D-1"]
    slots = {number: resume_at(await scene.submit(number)) for number in (3, 2, 1)}
    assert list(slots.values()) == sorted(slots.values())
    for number, slot in slots.items():
        scene.moment = slot
        assert isinstance(await scene.submit(number), Complete)
    async with scene.store.reading() as tx:
        assert await tx.payers.count_waiting(PAYER) == 0


async def test_a_deadline_that_comes_near_ends_the_wait_with_the_reason(scene: Scene) -> None:
    await scene.fail_twice()
    deadline = later(hours=4, minutes=3).isoformat()
    assert resume_at(await scene.submit(1, deadline=deadline)) == later(minutes=3)
    scene.moment = later(minutes=3)
    outcome = await scene.submit(1, deadline=deadline)
    assert isinstance(outcome, Throw)
    assert outcome.code == "SUBMISSION_FAILED"
    assert outcome.variables["submissionError"].startswith(
        "SERVICE_UNAVAILABLE - payer 999999 is not available"
    )
    assert "the claim's deadline 2026-01-12T14:43:00Z is near" in outcome.variables["submissionError"]
    async with scene.store.reading() as tx:
        assert await tx.attempts.count("CLM-D-1") == 0
        assert await tx.payers.wait_of("CLM-D-1") is None


@pytest.mark.parametrize("count", [0, 4, 5])
@pytest.mark.parametrize("job", ["retry-submission-backoff", "analyze-retry"])
async def test_a_claim_held_until_its_deadline_ran_out_of_time_not_of_retries(
    scene: Scene, job: str, count: int
) -> None:
    await scene.fail_twice()
    deadline = later(hours=4, minutes=3).isoformat()
    await scene.submit(1, deadline=deadline, retryCount=count)
    scene.moment = later(minutes=3)
    stopped = await scene.submit(1, deadline=deadline, retryCount=count)
    assert isinstance(stopped, Throw)
    asked = {"claimId": "CLM-D-1", "retryCount": count, "deadline": deadline} | stopped.variables
    given_up = await scene.handler(job).handle(Job(50, job, "Task", 1, 3, {}, asked))
    assert isinstance(given_up, Throw)
    assert (given_up.code, given_up.variables["cause"]) == ("MAX_RETRIES_EXCEEDED", "DEADLINE")
    async with scene.store.reading() as tx:
        [row] = await tx.decisions.of_claims(["CLM-D-1"])
        told = json.loads((await tx.outbox.unpublished(9))[-1].payload)
        assert [problem async for problem in tx.verification.problems(NOW)] == []
    assert row.cause == told["cause"] == "DEADLINE"
    assert told.get("totalAttempts", 0) == 0  # it never left


@pytest.mark.parametrize("count", [0, 4, 5])
@pytest.mark.parametrize("job", ["retry-submission-backoff", "analyze-retry"])
async def test_what_stopped_the_payer_is_no_error_of_a_claim_that_was_never_sent(
    scene: Scene, job: str, count: int
) -> None:
    scene.answer = AccessDenied("UNAUTHORIZED - the payer refuses our credentials (HTTP 401)", "HTTP:401")
    await scene.submit(101)
    deadline = later(hours=3, minutes=59).isoformat()
    stopped = await scene.submit(1, deadline=deadline, retryCount=count)
    assert isinstance(stopped, Throw)
    assert "lastSubmissionTime" not in stopped.variables
    asked = {"claimId": "CLM-D-1", "retryCount": count, "deadline": deadline} | stopped.variables
    given_up = await scene.handler(job).handle(Job(50, job, "Task", 1, 3, {}, asked))
    assert isinstance(given_up, Throw)
    assert (given_up.code, given_up.variables["cause"]) == ("MAX_RETRIES_EXCEEDED", "DEADLINE")
    assert given_up.variables["responsibleTeam"] == "BILLING_MANAGEMENT"
    assert given_up.variables["errorCategory"] == "SERVICE_UNAVAILABLE"
    async with scene.store.reading() as tx:
        [row] = await tx.decisions.of_claims(["CLM-D-1"])
        assert [problem async for problem in tx.verification.problems(NOW)] == []
    assert row.cause == "DEADLINE"
    assert scene.sent == ["CLM-D-101"]


@pytest.mark.parametrize("deadline", ["tomorrow", "2026-13-12T10:40:00Z"])
async def test_a_deadline_nobody_can_read_is_an_incident(scene: Scene, deadline: str) -> None:
    outcome = await scene.submit(1, deadline=deadline)
    assert isinstance(outcome, Incident)
    assert "deadline" in outcome.message
    assert scene.sent == []


async def test_refused_credentials_are_one_incident_that_may_be_retried_as_often_as_it_takes(
    scene: Scene,
) -> None:
    scene.limits, scene.answer = PayerLimits(per_minute=None), DENIED
    for _ in range(6):
        outcome = await scene.submit(1)
        assert isinstance(outcome, Incident)
        assert "reenvio payer resume 999999" in outcome.message
        assert (await scene.status()).state is PayerState.STOPPED
        assert await scene.submit(1) == outcome  # delivered or retried again before anybody resumed
        assert isinstance(await scene.submit(2), Throw)
        await scene.orders.resume(PAYER, scene.moment)
    assert scene.sent == ["CLM-D-1"] * 6
    assert scene.woken[0] == "CLM-D-2"
    scene.answer = Accepted("P-1")
    assert isinstance(await scene.submit(1), Complete)
    async with scene.store.reading() as tx:
        assert (await tx.attempts.history("CLM-D-1")).answer_was_lost is False


async def test_a_worker_that_died_after_admission_holds_its_place_until_its_time_is_over(
    scene: Scene,
) -> None:
    scene.limits = PayerLimits(per_minute=None)
    async with scene.store.transaction() as tx:
        await tx.payers.send_began("CLM-D-9", 1, PAYER, until=later(minutes=5))
    assert isinstance(await scene.submit(1), Throw)
    scene.moment = later(minutes=5)
    assert isinstance(await scene.submit(1), Complete)


async def test_the_payers_wish_and_its_maintenance_are_kept(scene: Scene) -> None:
    scene.answer = Failed("RATE_LIMIT - too many", "HTTP:429", timedelta(seconds=90))
    await scene.submit(1)
    assert resume_at(await scene.submit(2)) == later(seconds=90)
    assert (await scene.status()).state is PayerState.CLOSED
    scene.limits = PayerLimits(windows=(PlannedDowntime(NOW, later(hours=3)),))
    assert resume_at(await scene.submit(3)) == later(hours=3)


async def test_a_cancelled_claim_waits_for_no_payer(scene: Scene) -> None:
    await scene.fail_twice()
    await scene.submit(1)
    closing = Job(9, "close-claim", "End", 1, 3, {"outcome": "CANCELLED"}, {"claimId": "CLM-D-1"})
    await scene.handler("close-claim").handle(closing)
    async with scene.store.reading() as tx:
        assert await tx.payers.wait_of("CLM-D-1") is None


@pytest.mark.parametrize("answer", [DOWN, Duplicate("TISS:3268"), DENIED])
async def test_an_answer_that_comes_after_a_claims_end_leaves_the_end_and_is_written_down(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, answer: SendResult
) -> None:
    closing = Job(9, "close-claim", "End", 1, 3, {"outcome": "CANCELLED"}, {"claimId": "CLM-D-1"})

    async def send(_submission: Submission, _now: datetime) -> SendResult:
        scene.moment = later(minutes=6)  # the worker was suspended, and its send counts as lost
        await scene.handler("close-claim").handle(closing)
        return answer

    monkeypatch.setattr(scene, "send", send)
    outcome = await scene.submit(1)
    async with scene.store.reading() as tx:
        claim = await tx.claims.find("CLM-D-1")
        events = [entry.event for entry in await tx.journal.of_claim("CLM-D-1")]
    assert not isinstance(outcome, Fail)
    assert claim
    assert (claim.state, claim.protocol_number) == (ClaimState.CANCELLED, None)
    assert (events[0], len(events)) == ("cancelled", 2)


async def test_a_claim_that_its_payer_takes_after_all_is_accepted_whoever_had_given_it_up(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing = Job(9, "close-claim", "End", 1, 3, {"outcome": "WRITTEN_OFF"}, {"claimId": "CLM-D-1"})

    async def send(_submission: Submission, _now: datetime) -> SendResult:
        scene.moment = later(minutes=6)  # the worker was suspended, and its send counts as lost
        await scene.handler("close-claim").handle(closing)
        return Accepted("P-777")

    monkeypatch.setattr(scene, "send", send)
    await scene.submit(1)
    async with scene.store.reading() as tx:
        claim = await tx.claims.find("CLM-D-1")
        assert await tx.attempts.may_have_arrived("CLM-D-1")
    assert claim
    assert (claim.state, claim.protocol_number) == (ClaimState.ACCEPTED, "P-777")


async def test_a_review_is_opened_for_a_claim_that_another_answer_has_ended(scene: Scene) -> None:
    await scene.submit(1)
    variables = {"claimId": "CLM-D-1", "reviewReason": "PROTOCOL_MISSING"}
    await scene.handler("open-review").handle(Job(3, "open-review", "Task", 1, 3, {}, variables))
    async with scene.store.reading() as tx:
        claim = await tx.claims.find("CLM-D-1")
    assert claim
    assert (claim.state, claim.protocol_number) == (ClaimState.IN_REVIEW, "P-1")


async def test_a_probe_wakes_the_most_urgent_first_and_repeats_a_wake_up_that_was_lost(scene: Scene) -> None:
    scene.settings = {PAYER: payer_settings()}
    await scene.fail_twice()
    await scene.submit(1)
    await scene.submit(2, deadline=later(hours=9).isoformat())

    async def probe(up: bool, minute: int) -> int:
        async def answer(_settings: PayerSettings) -> bool:
            return up

        return await scene.probing(answer).all(later(minutes=minute))

    assert await probe(False, 1) == 0
    assert (await scene.status()).state is PayerState.OPEN
    scene.trouble = Trouble("the engine is away")
    assert await probe(True, 2) == 0
    scene.trouble = None
    assert await probe(True, 3) == 1  # the next one: the first may still be on its way
    assert await probe(True, 7) == 1
    assert scene.woken == ["CLM-D-1", "CLM-D-2"]
    assert (await scene.status()).state is PayerState.HALF_OPEN


async def test_a_payer_without_a_line_is_not_asked_but_time_heals_it(scene: Scene) -> None:
    await scene.fail_twice()
    await scene.submit(1)
    assert await scene.probing().all(later(minutes=4)) == 0
    assert await scene.probing().all(later(minutes=6)) == 1
    assert (await scene.status()).probed_at is None


async def test_people_may_pause_resume_and_trip_what_they_know(scene: Scene) -> None:
    with pytest.raises(UnknownPayer, match="payer list"):
        await scene.orders.resume(PAYER, NOW)
    await scene.submit(1)
    with pytest.raises(Trouble, match="past"):
        await scene.orders.pause(PAYER, NOW, reason="x", until=NOW)
    await scene.orders.pause(PAYER, NOW, reason="month's end")
    assert resume_at(await scene.submit(2)) == later(hours=1)
    [view] = await overview(scene.store, scene.payer_limits, NOW)
    assert (view.status.state, view.waiting, view.in_flight, view.pace) == ("PAUSED", 1, 0, "no limit")
    await scene.orders.resume(PAYER, NOW)
    assert scene.woken == ["CLM-D-2"]
    assert isinstance(await scene.submit(2), Complete)
    change = await scene.orders.trip(PAYER, NOW, reason="by hand")
    assert change.after.next_try_at == later(minutes=5)


async def test_a_stopped_payer_stays_so_and_whoever_pauses_or_trips_it_learns_it(scene: Scene) -> None:
    scene.limits, scene.answer = PayerLimits(per_minute=None), DENIED
    await scene.submit(1)
    stopped = await scene.status()
    with pytest.raises(StaysStopped, match="reenvio payer resume 999999"):
        await scene.orders.pause(PAYER, NOW, reason="night", until=later(hours=1))
    with pytest.raises(StaysStopped, match="login or password is wrong"):
        await scene.orders.trip(PAYER, NOW, reason="by hand")
    assert await scene.status() == stopped
    scene.moment = later(days=1)
    await scene.submit(2)
    assert scene.sent == ["CLM-D-1"]


async def test_a_payer_that_answers_nonsense_to_everybody_is_held_and_one_claim_alone_cannot_do_that(
    scene: Scene,
) -> None:
    scene.limits = PayerLimits(per_minute=None, needs_proof=False)
    scene.answer = AnswerLost("SERVER_ERROR - the payer's system failed", "HTTP:500")
    for attempt in range(12):
        await scene.submit(1, key=100 + attempt, retryCount=attempt)
    assert ((await scene.status()).state, (await scene.status()).failures) == (PayerState.CLOSED, 1)
    for number in range(2, 11):
        await scene.submit(number)
    assert (await scene.status()).state is PayerState.OPEN
    assert resume_at(await scene.submit(11)) == later(minutes=5)
    async with scene.store.reading() as tx:
        assert await tx.attempts.count("CLM-D-11") == 0
    scene.moment, scene.answer = later(minutes=5), Accepted("P-1")
    assert isinstance(await scene.submit(11), Complete)
    assert (await scene.status()).state is PayerState.CLOSED


async def test_the_reason_of_an_order_names_no_person(scene: Scene) -> None:
    await scene.submit(1)
    await scene.orders.pause(PAYER, NOW, reason="ask about CPF 123.456.789-09")
    assert "123.456.789-09" not in (await scene.status()).reason
    await scene.orders.trip(PAYER, NOW, reason="ask about CPF 123.456.789-09")
    assert "123.456.789-09" not in (await scene.status()).reason


async def test_a_pause_that_is_over_gives_slots_to_all_that_waited(scene: Scene) -> None:
    await scene.submit(1)
    await scene.orders.pause(PAYER, NOW, reason="night", until=later(hours=1))
    for number in (2, 3):
        await scene.submit(number)
    assert await scene.probing().all(later(hours=1)) == 0  # their own timers end now
    scene.moment = later(hours=1)
    for number in (2, 3):
        assert isinstance(await scene.submit(number), Complete)


def test_limits_come_from_the_payers_settings() -> None:
    window = {"start": "2026-01-18T00:00:00-03:00", "end": "2026-01-18T06:00:00-03:00"}
    settings = payer_settings(
        requests_per_minute=30, at_once=2, windows=[window], breaker={"failures": 3, "waiting_share": 1}
    )
    limits = limits_from(settings)
    assert (limits.per_minute, limits.at_once, limits.threshold, limits.share) == (30, 2, 3, 1)
    assert limits.unclear_threshold == 10
    assert limits_from(payer_settings(breaker={"unclear_failures": 7})).unclear_threshold == 7
    assert limits_from(payer_settings(breaker={"failures": 20})).unclear_threshold == 20
    assert limits.needs_proof is False
    assert limits.lease == timedelta(seconds=150)
    assert limits.windows[0].covers(datetime.fromisoformat("2026-01-18T03:00:00-03:00"))
    assert limits_from(payer_settings()).per_minute == 60
    assert limits_by_payer({PAYER: settings}).of("another") == PayerLimits()
    with pytest.raises(ValueError, match="end must come after start"):
        payer_settings(windows=[{"start": window["end"], "end": window["start"]}])
