"""The breaker, step by step: what opens it, what closes it, who may go meanwhile."""

import random
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise

import pytest

from domain.breaker import ASKED_TO_WAIT, MAINTENANCE, Breaker
from domain.durations import whole_second
from domain.payer_answers import Result
from domain.payer_status import PayerLimits, PayerState, PayerStatus, PlannedDowntime
from domain.submission import Accepted, AccessDenied, AnswerLost, Failed
from domain.verdicts import Candidate, Go, Hold, NoPlace, PlaceWait, Stop, Verdict
from gateways.tiss.hours import PostingHours

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)
LIMITS = PayerLimits()
MINUTE = timedelta(minutes=1)
HELD_A_DAY, TWICE = 9, 2
WELL = PayerStatus("p", NOW, proven=True)
NEW = PayerStatus("p", NOW)


def at(**by: float) -> datetime:
    return NOW + timedelta(**by)


CLAIM = Candidate("c", "p")
ACCEPTED = Accepted("1")
OUTAGE = Failed("503", "HTTP:503", payer_down=True)
BUSY = Failed("429", "HTTP:429")
UNCLEAR = AnswerLost("500", "HTTP:500")
DENIED = AccessDenied("login")
NOT_SENT = Failed("x")


def with_slot(slot: datetime) -> Candidate:
    return replace(CLAIM, slot_at=slot)


def due(deadline: datetime) -> Candidate:
    return replace(CLAIM, deadline=deadline)


def breaker(status: PayerStatus, now: datetime = NOW, limits: PayerLimits = LIMITS) -> Breaker:
    return Breaker(status, limits, now)


def is_free(status: PayerStatus) -> bool:
    return breaker(status).is_free


def down(status: PayerStatus, times: int, now: datetime = NOW) -> PayerStatus:
    for _ in range(times):
        status = breaker(status, now).after_send(OUTAGE)
    return status


def asked(status: PayerStatus, now: datetime, *, in_flight: int = 0, claim: Candidate = CLAIM) -> Verdict:
    return breaker(status, now).admit(claim, in_flight)[1]


OPEN = down(WELL, 5)


def test_five_outages_in_a_row_open_it_and_four_do_not() -> None:
    assert down(WELL, 4).state is PayerState.CLOSED
    assert OPEN.state is PayerState.OPEN
    assert OPEN.next_try_at == at(minutes=5)
    assert OPEN.reason == "503"


def test_an_answer_between_outages_starts_the_count_again() -> None:
    status = breaker(down(WELL, 4)).after_send(ACCEPTED)
    assert down(status, 4).state is PayerState.CLOSED


@pytest.mark.parametrize(("result", "again"), [(UNCLEAR, True), (NOT_SENT, False), (BUSY, False)])
def test_what_says_nothing_about_health_neither_counts_nor_clears(result: Result, again: bool) -> None:
    status = breaker(down(WELL, 4)).after_send(result, again=again)
    assert status.state is PayerState.CLOSED
    assert down(status, 1).state is PayerState.OPEN


def unclear(status: PayerStatus, claims: int) -> PayerStatus:
    for _ in range(claims):
        status = breaker(status).after_send(UNCLEAR)
    return status


UNPACED = PayerLimits(per_minute=None)


def test_ten_claims_in_a_row_without_a_clear_answer_open_it_and_nine_do_not() -> None:
    assert unclear(WELL, 9).state is PayerState.CLOSED
    opened = unclear(WELL, 10)
    assert (opened.state, opened.reason, opened.next_try_at) == (PayerState.OPEN, "500", at(minutes=5))
    half, verdict = breaker(opened, at(minutes=5)).admit(CLAIM, 0)
    assert verdict == Go()
    assert is_free(breaker(half, at(minutes=6)).after_send(ACCEPTED))


def test_one_claim_that_the_payer_can_never_answer_does_not_open_it() -> None:
    status = unclear(WELL, 1)
    for _ in range(50):
        status = breaker(status).after_send(UNCLEAR, again=True)
    assert status.state is PayerState.CLOSED
    assert unclear(status, 8).state is PayerState.CLOSED


def test_an_answer_between_unclear_ones_starts_the_count_again() -> None:
    status = breaker(unclear(WELL, 9)).after_send(ACCEPTED)
    assert unclear(status, 9).state is PayerState.CLOSED


def test_outages_and_unclear_answers_are_counted_together_and_each_opens_it_at_its_own_number() -> None:
    assert down(unclear(WELL, 3), 1).state is PayerState.CLOSED
    assert down(unclear(WELL, 4), 1).state is PayerState.OPEN
    assert unclear(down(WELL, 4), 5).state is PayerState.CLOSED
    assert unclear(down(WELL, 4), 6).state is PayerState.OPEN


@pytest.mark.parametrize("seed", range(5))
def test_a_payer_that_loses_four_answers_of_ten_is_hardly_ever_held_and_never_for_good(seed: int) -> None:
    dice, status, now, openings = random.Random(seed), WELL, NOW, 0
    for _ in range(4_000):
        status, verdict = breaker(status, now, UNPACED).admit(CLAIM, 0)
        if isinstance(verdict, Hold):
            now = verdict.resume_at
            continue
        was_well = status.state is PayerState.CLOSED
        result = UNCLEAR if dice.random() < 0.4 else ACCEPTED
        status = breaker(status, now, UNPACED).after_send(result)
        openings += was_well and status.state is PayerState.OPEN
    assert openings <= 2
    assert now - NOW < timedelta(hours=2)


def test_while_it_is_open_claims_wait_until_the_next_try_one_after_the_other() -> None:
    status, first = breaker(OPEN).admit(CLAIM, 0)
    _, second = breaker(status).admit(CLAIM, 0)
    assert isinstance(first, Hold)
    assert isinstance(second, Hold)
    assert first.resume_at == at(minutes=5)
    assert (
        second.resume_at == whole_second(first.resume_at + LIMITS.wait_interval) == at(minutes=5, seconds=3)
    )


def held_until_the_end(status: PayerStatus, end: datetime) -> list[datetime]:
    """When a claim comes back that nobody wakes while the trial of another keeps running out."""
    moments, claim = [NOW], CLAIM
    while moments[-1] < end:
        verdict = asked(status, moments[-1], in_flight=1, claim=replace(claim, since=NOW))
        assert isinstance(verdict, Hold)
        moments.append(verdict.resume_at)
    return moments


@pytest.mark.parametrize(
    "status",
    [OPEN, breaker(WELL).after_send(DENIED), breaker(WELL).paused(None)],
    ids=["open", "stopped", "paused"],
)
def test_a_claim_that_is_held_comes_back_after_ever_longer_waits_and_twice_a_day_in_the_end(
    status: PayerStatus,
) -> None:
    moments = held_until_the_end(status, at(hours=72))
    waits = [later - earlier for earlier, later in pairwise(moments)]
    assert waits == sorted(waits)
    assert waits[-1] == LIMITS.longest_hold
    assert len([moment for moment in moments[1:] if moment < at(hours=24)]) <= HELD_A_DAY
    assert len([moment for moment in moments if at(hours=48) <= moment]) <= TWICE + 1


def test_a_pause_or_maintenance_whose_end_is_known_is_waited_for_to_its_end_however_long_it_took() -> None:
    claim = replace(CLAIM, since=NOW - timedelta(hours=11))
    paused = asked(breaker(WELL).paused(at(hours=1)), NOW, claim=claim)
    assert isinstance(paused, Hold)
    assert paused.resume_at == at(hours=1)
    asked_to_wait = breaker(WELL).after_send(Failed("429", "HTTP:429", retry_after=timedelta(minutes=9)))
    told = asked(asked_to_wait, NOW, claim=claim)
    assert isinstance(told, Hold)
    assert told.resume_at == at(minutes=9)


def test_a_clock_that_was_wrong_when_the_wait_began_neither_shortens_nor_stretches_it() -> None:
    ahead = asked(OPEN, NOW, claim=replace(CLAIM, since=at(hours=50)))
    assert isinstance(ahead, Hold)
    assert ahead.resume_at == at(minutes=5)
    behind = asked(OPEN, NOW, claim=replace(CLAIM, since=datetime(2000, 1, 1, tzinfo=UTC)))
    assert isinstance(behind, Hold)
    assert behind.resume_at == NOW + LIMITS.longest_hold


def test_when_its_time_has_come_one_claim_tries_and_the_others_wait() -> None:
    status, verdict = breaker(OPEN, at(minutes=5)).admit(CLAIM, 0)
    assert verdict == Go()
    assert status.state is PayerState.HALF_OPEN
    assert isinstance(asked(status, at(minutes=6), in_flight=1), Hold)


def test_a_trial_that_is_answered_closes_it_and_one_that_fails_opens_it_for_longer() -> None:
    half, _ = breaker(OPEN, at(minutes=5)).admit(CLAIM, 0)
    well = breaker(half, at(minutes=6)).after_send(ACCEPTED)
    assert is_free(well)
    assert (well.failures, well.openings) == (0, 0)
    waits = []
    for _ in range(6):
        half = breaker(half).after_send(OUTAGE)
        assert half.next_try_at
        waits.append(half.next_try_at - NOW)
        half = replace(half, state=PayerState.HALF_OPEN)
    assert waits == [10 * MINUTE, 20 * MINUTE, 40 * MINUTE, 60 * MINUTE, 60 * MINUTE, 60 * MINUTE]


def test_a_trial_without_a_clear_answer_opens_it_again_and_one_that_never_left_lets_the_next_try() -> None:
    half, _ = breaker(OPEN, at(minutes=5)).admit(CLAIM, 0)
    assert breaker(half, at(minutes=6)).after_send(UNCLEAR).state is PayerState.OPEN
    assert breaker(half, at(minutes=6)).after_send(NOT_SENT) == half


def test_an_answer_to_a_send_from_before_it_opened_is_a_hint_only() -> None:
    status = breaker(OPEN, at(minutes=1)).after_send(ACCEPTED)
    assert status.state is PayerState.HALF_OPEN


def test_a_probe_begins_a_trial_and_never_more() -> None:
    status = breaker(OPEN, at(minutes=1)).probed(up=True)
    assert status.state is PayerState.HALF_OPEN
    assert not is_free(status)
    assert breaker(OPEN, at(minutes=1)).probed(up=False).state is PayerState.OPEN


def test_a_probe_that_was_proven_wrong_is_believed_again_only_after_a_down() -> None:
    tried = breaker(OPEN, at(minutes=1)).probed(up=True)
    opened = breaker(tried, at(minutes=2)).after_send(OUTAGE)
    assert breaker(opened, at(minutes=6)).probed(up=True).state is PayerState.OPEN
    seen_down = breaker(opened, at(minutes=6)).probed(up=False)
    assert breaker(seen_down, at(minutes=11)).probed(up=True).state is PayerState.HALF_OPEN


def test_refused_credentials_stop_everything_until_a_person_resumes() -> None:
    stopped = breaker(WELL).after_send(DENIED)
    assert stopped.state is PayerState.STOPPED
    assert isinstance(asked(stopped, at(days=9)), Hold)
    assert breaker(stopped, at(days=9)).probed(up=True).state is PayerState.STOPPED
    assert breaker(stopped).after_send(ACCEPTED).state is PayerState.STOPPED
    again = breaker(stopped, at(days=9)).resumed()
    assert asked(again, at(days=9)) == Go()
    assert isinstance(asked(again, at(days=9), in_flight=1), Hold)


def test_neither_a_pause_nor_a_trip_ends_a_stop() -> None:
    stopped = breaker(WELL).after_send(DENIED)
    assert breaker(stopped).paused(at(hours=1)) == stopped
    assert breaker(stopped).paused(None) == stopped
    assert breaker(stopped).tripped() == stopped


def test_credentials_that_have_not_worked_yet_let_one_claim_through() -> None:
    assert asked(NEW, NOW) == Go()
    assert isinstance(asked(NEW, NOW, in_flight=1), Hold)
    proven = breaker(NEW).after_send(ACCEPTED)
    assert asked(proven, NOW, in_flight=1) == Go()
    assert isinstance(asked(proven, NOW, in_flight=LIMITS.at_once), Hold)


def test_a_pause_lasts_until_its_moment_or_until_resumed() -> None:
    until = at(hours=3)
    held = breaker(WELL).paused(until)
    verdict = asked(held, at(hours=1))
    assert isinstance(verdict, Hold)
    assert verdict.resume_at == until
    assert verdict.reason == "the payer is paused by an operator"
    assert asked(held, until) == Go()
    assert isinstance(asked(breaker(WELL).paused(None), at(days=400)), Hold)


@pytest.mark.parametrize("kind", ["asked", "paused"])
def test_a_claim_whose_wait_is_put_off_again_and_again_comes_back_after_ever_longer_ones(kind: str) -> None:
    hour, moments, claim = timedelta(hours=1), [NOW], CLAIM
    while moments[-1] < at(hours=72):
        now = moments[-1]
        asks = breaker(WELL, now).after_send(replace(BUSY, retry_after=hour))
        status = asks if kind == "asked" else breaker(WELL, now).paused(now + hour)
        verdict = asked(status, now, claim=claim)
        assert isinstance(verdict, Hold)
        moments.append(verdict.resume_at)
        claim = replace(CLAIM, since=NOW, until=verdict.resume_at)
    waits = [later - earlier for earlier, later in pairwise(moments)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (hour, LIMITS.longest_hold)


def test_a_claim_that_comes_back_waits_for_a_short_wish_or_a_planned_end_as_long_as_it_takes() -> None:
    claim = replace(CLAIM, since=at(hours=-9), until=NOW)
    asks = breaker(WELL).after_send(replace(BUSY, retry_after=timedelta(seconds=90)))
    planned = PayerLimits(windows=(PlannedDowntime(NOW, at(hours=2)),))
    told = (asked(asks, NOW, claim=claim), breaker(WELL, limits=planned).admit(claim, 0)[1])
    assert [hold.resume_at for hold in told if isinstance(hold, Hold)] == [at(seconds=90), at(hours=2)]


def test_where_all_places_are_taken_a_claim_asks_again_and_nothing_changes() -> None:
    claim = replace(CLAIM, place=PlaceWait(asks_again=True))
    assert breaker(WELL).admit(claim, LIMITS.at_once) == (WELL, NoPlace())
    assert breaker(WELL).admit(claim, LIMITS.at_once - 1)[1] == Go()


def test_who_waits_for_a_place_comes_when_its_worker_reckons_with_one() -> None:
    def told(turn_in: timedelta | None, claim: Candidate = CLAIM) -> tuple[PayerStatus, Verdict]:
        claim = replace(claim, place=PlaceWait(turn_in=turn_in))
        return breaker(WELL).admit(claim, LIMITS.at_once)

    def moment(verdict: Verdict) -> datetime | None:
        return verdict.slot_at if isinstance(verdict, Hold) else None

    assert moment(told(timedelta(seconds=33))[1]) == at(seconds=33)
    assert moment(told(None)[1]) == NOW + LIMITS.busy_wait
    again, verdict = told(timedelta(seconds=33), with_slot(at(seconds=-1)))
    assert moment(verdict) == at(seconds=33)
    assert again == WELL  # a slot that nobody uses would keep others away


def test_a_person_may_open_it() -> None:
    assert breaker(WELL).tripped().state is PayerState.OPEN


def test_the_payers_wish_to_wait_is_kept_and_is_no_outage() -> None:
    busy = breaker(WELL).after_send(replace(BUSY, retry_after=timedelta(seconds=90)))
    assert busy.state is PayerState.CLOSED
    verdict = asked(busy, at(seconds=30), claim=with_slot(at(seconds=30)))
    assert isinstance(verdict, Hold)
    assert verdict.resume_at == at(seconds=90)
    assert verdict.reason == ASKED_TO_WAIT
    assert isinstance(asked(breaker(WELL).after_send(BUSY), NOW), Hold)
    opened = down(breaker(WELL).after_send(replace(OUTAGE, retry_after=timedelta(hours=2))), 4)
    assert opened.next_try_at == at(hours=2)


def test_nothing_goes_in_a_maintenance_window_or_outside_the_hours() -> None:
    window = PlannedDowntime(at(minutes=-1), at(hours=2))
    status, verdict = breaker(WELL, NOW, PayerLimits(windows=(window,))).admit(CLAIM, 0)
    assert isinstance(verdict, Hold)
    assert (verdict.resume_at, verdict.reason) == (window.end, MAINTENANCE)
    hours = PostingHours(opens=time(8), closes=time(9), zone="UTC")
    _, verdict = breaker(status, NOW, PayerLimits(hours=hours)).admit(CLAIM, 0)
    assert isinstance(verdict, Hold)
    assert verdict.resume_at == datetime(2026, 1, 13, 8, tzinfo=UTC)


def test_a_claim_goes_at_its_slot_or_later_and_waits_when_it_comes_early() -> None:
    busy = replace(WELL, next_slot_at=at(seconds=100))
    slot = at(seconds=30)
    assert asked(busy, slot, claim=with_slot(slot)) == Go()
    assert asked(busy, slot + timedelta(seconds=50), claim=with_slot(slot)) == Go()
    early = asked(busy, slot - timedelta(seconds=5), claim=with_slot(slot))
    assert isinstance(early, Hold)
    assert early.resume_at == slot


def test_claims_that_come_in_the_same_moment_do_not_wait_for_each_other_where_there_is_no_pace() -> None:
    limits = PayerLimits(per_minute=None)
    status, _ = breaker(WELL, NOW, limits).admit(CLAIM, 0)
    assert breaker(status, NOW - timedelta(milliseconds=5), limits).admit(CLAIM, 1)[1] == Go()


def test_late_claims_may_run_ahead_of_the_pace_by_five_seconds_and_then_draw_anew() -> None:
    status, late, gone = replace(WELL, next_slot_at=at(seconds=100)), at(seconds=60), 0
    while isinstance(admitted := breaker(status, late).admit(with_slot(at(seconds=gone)), 0), tuple):
        status, verdict = admitted
        if isinstance(verdict, Hold):
            break
        gone += 1
    assert gone == 1 + LIMITS.grace // LIMITS.interval == 5
    assert isinstance(verdict, Hold)
    assert verdict.resume_at == at(seconds=100)


def test_a_wait_never_uses_up_a_persons_time_before_the_deadline() -> None:
    near = due(at(hours=4, minutes=2))
    verdict = asked(OPEN, NOW, claim=near)
    assert isinstance(verdict, Hold)
    assert verdict.resume_at == at(minutes=2)
    assert isinstance(asked(OPEN, at(minutes=2), claim=near), Stop)


def test_a_turn_at_a_healthy_payer_may_use_that_time_too() -> None:
    busy = replace(WELL, next_slot_at=at(seconds=30))
    assert isinstance(asked(busy, NOW, claim=due(at(hours=1))), Hold)
    assert isinstance(asked(busy, NOW, claim=due(at(seconds=-1))), Stop)
    assert asked(WELL, NOW, claim=due(at(seconds=-1))) == Go()
