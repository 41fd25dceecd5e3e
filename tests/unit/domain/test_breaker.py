"""The breaker, step by step: what opens it, what closes it, who may go meanwhile."""

import random
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

import pytest

from domain.breaker import (
    ASKED_TO_WAIT,
    MAINTENANCE,
    Go,
    Hold,
    Signal,
    Stop,
    Ticket,
    Verdict,
    admit,
    after_answer,
    is_free,
    paused,
    probed,
    resumed,
    signal_of,
    tripped,
)
from domain.payer_status import PayerLimits, PayerState, PayerStatus, PlannedDowntime
from domain.slots import Wait, draw, opening, plan
from domain.submission import (
    Accepted,
    AccessDenied,
    AnswerLost,
    Duplicate,
    Failed,
    ProtocolMissing,
    SendResult,
    Settled,
)
from gateways.tiss.hours import PostingHours

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)
LIMITS = PayerLimits()
MINUTE = timedelta(minutes=1)
WELL = PayerStatus("p", NOW, proven=True)
NEW = PayerStatus("p", NOW)


def at(**by: float) -> datetime:
    return NOW + timedelta(**by)


def down(status: PayerStatus, times: int, now: datetime = NOW) -> PayerStatus:
    for _ in range(times):
        status = after_answer(status, Signal.OUTAGE, LIMITS, now, reason="503")
    return status


def asked(status: PayerStatus, now: datetime, *, in_flight: int = 0, ticket: Ticket = Ticket()) -> Verdict:  # noqa: B008
    return admit(status, ticket, in_flight, LIMITS, now)[1]


OPEN = down(WELL, 5)


def test_five_outages_in_a_row_open_it_and_four_do_not() -> None:
    assert down(WELL, 4).state is PayerState.CLOSED
    assert OPEN.state is PayerState.OPEN
    assert OPEN.next_try_at == at(minutes=5)
    assert OPEN.reason == "503"


def test_an_answer_between_outages_starts_the_count_again() -> None:
    status = after_answer(down(WELL, 4), Signal.ANSWERED, LIMITS, NOW)
    assert down(status, 4).state is PayerState.CLOSED


@pytest.mark.parametrize("word", [Signal.UNCLEAR_AGAIN, Signal.NOTHING, Signal.BUSY])
def test_what_says_nothing_about_health_neither_counts_nor_clears(word: Signal) -> None:
    status = after_answer(down(WELL, 4), word, LIMITS, NOW)
    assert status.state is PayerState.CLOSED
    assert down(status, 1).state is PayerState.OPEN


def unclear(status: PayerStatus, claims: int) -> PayerStatus:
    for _ in range(claims):
        status = after_answer(status, Signal.UNCLEAR, LIMITS, NOW, reason="500")
    return status


UNPACED = PayerLimits(per_minute=None)


def test_ten_claims_in_a_row_without_a_clear_answer_open_it_and_nine_do_not() -> None:
    assert unclear(WELL, 9).state is PayerState.CLOSED
    opened = unclear(WELL, 10)
    assert (opened.state, opened.reason, opened.next_try_at) == (PayerState.OPEN, "500", at(minutes=5))
    half, verdict = admit(opened, Ticket(), 0, LIMITS, at(minutes=5))
    assert verdict == Go()
    assert is_free(after_answer(half, Signal.ANSWERED, LIMITS, at(minutes=6)), LIMITS)


def test_one_claim_that_the_payer_can_never_answer_does_not_open_it() -> None:
    status = unclear(WELL, 1)
    for _ in range(50):
        status = after_answer(status, Signal.UNCLEAR_AGAIN, LIMITS, NOW)
    assert status.state is PayerState.CLOSED
    assert unclear(status, 8).state is PayerState.CLOSED


def test_an_answer_between_unclear_ones_starts_the_count_again() -> None:
    status = after_answer(unclear(WELL, 9), Signal.ANSWERED, LIMITS, NOW)
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
        status, verdict = admit(status, Ticket(), 0, UNPACED, now)
        if isinstance(verdict, Hold):
            now = verdict.resume_at
            continue
        was_well = status.state is PayerState.CLOSED
        word = Signal.UNCLEAR if dice.random() < 0.4 else Signal.ANSWERED
        status = after_answer(status, word, UNPACED, now)
        openings += was_well and status.state is PayerState.OPEN
    assert openings <= 2
    assert now - NOW < timedelta(hours=2)


def test_while_it_is_open_claims_wait_until_the_next_try_one_after_the_other() -> None:
    status, first = admit(OPEN, Ticket(), 0, LIMITS, NOW)
    _, second = admit(status, Ticket(), 0, LIMITS, NOW)
    assert isinstance(first, Hold)
    assert isinstance(second, Hold)
    assert first.resume_at == at(minutes=5)
    assert second.resume_at == at(minutes=5, seconds=2)


def test_when_its_time_has_come_one_claim_tries_and_the_others_wait() -> None:
    status, verdict = admit(OPEN, Ticket(), 0, LIMITS, at(minutes=5))
    assert verdict == Go()
    assert status.state is PayerState.HALF_OPEN
    assert isinstance(asked(status, at(minutes=6), in_flight=1), Hold)


def test_a_trial_that_is_answered_closes_it_and_one_that_fails_opens_it_for_longer() -> None:
    half, _ = admit(OPEN, Ticket(), 0, LIMITS, at(minutes=5))
    well = after_answer(half, Signal.ANSWERED, LIMITS, at(minutes=6))
    assert is_free(well, LIMITS)
    assert (well.failures, well.openings) == (0, 0)
    waits = []
    for _ in range(6):
        half = after_answer(half, Signal.OUTAGE, LIMITS, NOW)
        assert half.next_try_at
        waits.append(half.next_try_at - NOW)
        half = replace(half, state=PayerState.HALF_OPEN)
    assert waits == [10 * MINUTE, 20 * MINUTE, 40 * MINUTE, 60 * MINUTE, 60 * MINUTE, 60 * MINUTE]


def test_a_trial_without_a_clear_answer_opens_it_again_and_one_that_never_left_lets_the_next_try() -> None:
    half, _ = admit(OPEN, Ticket(), 0, LIMITS, at(minutes=5))
    assert after_answer(half, Signal.UNCLEAR, LIMITS, at(minutes=6)).state is PayerState.OPEN
    assert after_answer(half, Signal.NOTHING, LIMITS, at(minutes=6)) == half


def test_an_answer_to_a_send_from_before_it_opened_is_a_hint_only() -> None:
    status = after_answer(OPEN, Signal.ANSWERED, LIMITS, at(minutes=1))
    assert status.state is PayerState.HALF_OPEN


def test_a_probe_begins_a_trial_and_never_more() -> None:
    status = probed(OPEN, at(minutes=1), up=True)
    assert status.state is PayerState.HALF_OPEN
    assert not is_free(status, LIMITS)
    assert probed(OPEN, at(minutes=1), up=False).state is PayerState.OPEN


def test_a_probe_that_was_proven_wrong_is_believed_again_only_after_a_down() -> None:
    tried = probed(OPEN, at(minutes=1), up=True)
    opened = after_answer(tried, Signal.OUTAGE, LIMITS, at(minutes=2))
    assert probed(opened, at(minutes=6), up=True).state is PayerState.OPEN
    seen_down = probed(opened, at(minutes=6), up=False)
    assert probed(seen_down, at(minutes=11), up=True).state is PayerState.HALF_OPEN


def test_refused_credentials_stop_everything_until_a_person_resumes() -> None:
    stopped = after_answer(WELL, Signal.DENIED, LIMITS, NOW, reason="login")
    assert stopped.state is PayerState.STOPPED
    assert isinstance(asked(stopped, at(days=9)), Hold)
    assert probed(stopped, at(days=9), up=True).state is PayerState.STOPPED
    assert after_answer(stopped, Signal.ANSWERED, LIMITS, NOW).state is PayerState.STOPPED
    again = resumed(stopped, at(days=9))
    assert asked(again, at(days=9)) == Go()
    assert isinstance(asked(again, at(days=9), in_flight=1), Hold)


def test_neither_a_pause_nor_a_trip_ends_a_stop() -> None:
    stopped = after_answer(WELL, Signal.DENIED, LIMITS, NOW, reason="login")
    assert paused(stopped, "night", at(hours=1), NOW) == stopped
    assert paused(stopped, "night", None, NOW) == stopped
    assert tripped(stopped, "by hand", LIMITS, NOW) == stopped


def test_credentials_that_have_not_worked_yet_let_one_claim_through() -> None:
    assert asked(NEW, NOW) == Go()
    assert isinstance(asked(NEW, NOW, in_flight=1), Hold)
    proven = after_answer(NEW, Signal.ANSWERED, LIMITS, NOW)
    assert asked(proven, NOW, in_flight=1) == Go()
    assert isinstance(asked(proven, NOW, in_flight=LIMITS.at_once), Hold)


def test_a_pause_lasts_until_its_moment_or_until_resumed() -> None:
    until = at(hours=3)
    held = paused(WELL, "month's end", until, NOW)
    verdict = asked(held, at(hours=1))
    assert isinstance(verdict, Hold)
    assert verdict.resume_at == until
    assert verdict.reason == "month's end"
    assert asked(held, until) == Go()
    assert isinstance(asked(paused(WELL, "x", None, NOW), at(days=400)), Hold)


def test_a_person_may_open_it() -> None:
    assert tripped(WELL, "by hand", LIMITS, NOW).state is PayerState.OPEN


def test_the_payers_wish_to_wait_is_kept_and_is_no_outage() -> None:
    busy = after_answer(WELL, Signal.BUSY, LIMITS, NOW, retry_after=timedelta(seconds=90))
    assert busy.state is PayerState.CLOSED
    verdict = asked(busy, at(seconds=30), ticket=Ticket(at(seconds=30)))
    assert isinstance(verdict, Hold)
    assert verdict.resume_at == at(seconds=90)
    assert verdict.reason == ASKED_TO_WAIT
    assert isinstance(asked(after_answer(WELL, Signal.BUSY, LIMITS, NOW), NOW), Hold)
    opened = down(after_answer(WELL, Signal.OUTAGE, LIMITS, NOW, retry_after=timedelta(hours=2)), 4)
    assert opened.next_try_at == at(hours=2)


def test_nothing_goes_in_a_maintenance_window_or_outside_the_hours() -> None:
    window = PlannedDowntime(at(minutes=-1), at(hours=2))
    status, verdict = admit(WELL, Ticket(), 0, PayerLimits(windows=(window,)), NOW)
    assert isinstance(verdict, Hold)
    assert (verdict.resume_at, verdict.reason) == (window.end, MAINTENANCE)
    hours = PostingHours(opens=time(8), closes=time(9), zone="UTC")
    _, verdict = admit(status, Ticket(), 0, PayerLimits(hours=hours), NOW)
    assert isinstance(verdict, Hold)
    assert verdict.resume_at == datetime(2026, 1, 13, 8, tzinfo=UTC)


def test_a_window_over_the_opening_delays_it() -> None:
    hours = PostingHours(opens=time(8), closes=time(9), zone="UTC")
    morning = datetime(2026, 1, 13, 8, tzinfo=UTC)
    limits = PayerLimits(hours=hours, windows=(PlannedDowntime(morning, morning + timedelta(hours=2)),))
    assert opening(limits, NOW) == morning + timedelta(days=1)


def test_a_claim_goes_at_its_slot_or_later_and_waits_when_it_comes_early() -> None:
    busy = replace(WELL, next_slot_at=at(seconds=100))
    slot = at(seconds=30)
    assert asked(busy, slot, ticket=Ticket(slot)) == Go()
    assert asked(busy, slot + timedelta(seconds=50), ticket=Ticket(slot)) == Go()
    early = asked(busy, slot - timedelta(seconds=5), ticket=Ticket(slot))
    assert isinstance(early, Hold)
    assert early.resume_at == slot


def test_claims_that_come_in_the_same_moment_do_not_wait_for_each_other_where_there_is_no_pace() -> None:
    limits = PayerLimits(per_minute=None)
    status, _ = admit(WELL, Ticket(), 0, limits, NOW)
    assert admit(status, Ticket(), 1, limits, NOW - timedelta(milliseconds=5))[1] == Go()


def test_late_claims_may_run_ahead_of_the_pace_by_ten_seconds_and_then_draw_anew() -> None:
    status, late, gone = replace(WELL, next_slot_at=at(seconds=100)), at(seconds=60), 0
    while isinstance(admitted := admit(status, Ticket(at(seconds=gone)), 0, LIMITS, late), tuple):
        status, verdict = admitted
        if isinstance(verdict, Hold):
            break
        gone += 1
    assert gone == 11
    assert isinstance(verdict, Hold)
    assert verdict.resume_at == at(seconds=100)


def test_a_wait_never_uses_up_a_persons_time_before_the_deadline() -> None:
    near = Ticket(deadline=at(hours=4, minutes=2))
    verdict = asked(OPEN, NOW, ticket=near)
    assert isinstance(verdict, Hold)
    assert verdict.resume_at == at(minutes=2)
    assert isinstance(asked(OPEN, at(minutes=2), ticket=near), Stop)


def test_a_turn_at_a_healthy_payer_may_use_that_time_too() -> None:
    busy = replace(WELL, next_slot_at=at(seconds=30))
    assert isinstance(asked(busy, NOW, ticket=Ticket(deadline=at(hours=1))), Hold)
    assert isinstance(asked(busy, NOW, ticket=Ticket(deadline=at(seconds=-1))), Stop)
    assert asked(WELL, NOW, ticket=Ticket(deadline=at(seconds=-1))) == Go()


def test_those_that_waited_share_the_pace_with_new_ones() -> None:
    waits = [Wait(f"c{n}", "p", NOW, NOW, deadline=at(hours=9 - n)) for n in range(3)]
    waits.append(Wait("no deadline", "p", at(hours=-9), NOW))
    status, slots = plan(WELL, waits, LIMITS, NOW)
    assert [slot.claim_id for slot in slots] == ["c2", "c1", "c0", "no deadline"]
    assert [slot.at for slot in slots] == [at(seconds=1 + 2 * n) for n in range(4)]
    new = []
    for _ in range(6):
        status, slot = draw(status, LIMITS, NOW)
        new.append(slot)
    assert new == [at(seconds=second) for second in (2, 4, 6, 8, 10, 11)]


def test_with_the_whole_share_new_claims_come_after_all_that_waited() -> None:
    limits = PayerLimits(share=1)
    status, _ = plan(WELL, [Wait(f"c{n}", "p", NOW, NOW) for n in range(5)], limits, NOW)
    assert draw(status, limits, NOW)[1] == at(seconds=6)


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (Accepted("1"), Signal.ANSWERED),
        (Duplicate("TISS:3268"), Signal.ANSWERED),
        (ProtocolMissing(), Signal.ANSWERED),
        (Failed("x", "TISS:1001"), Signal.ANSWERED),
        (Failed("x", "FAULT:SchemaInvalido"), Signal.NOTHING),
        (Failed("x"), Signal.NOTHING),
        (Failed("x", "HTTP:429", timedelta(seconds=3)), Signal.BUSY),
        (Failed("x", "NET:DNS", payer_down=True), Signal.OUTAGE),
        (AnswerLost("x", "HTTP:503", payer_down=True), Signal.OUTAGE),
        (AnswerLost("x", "HTTP:500"), Signal.UNCLEAR),
        (AccessDenied("x"), Signal.DENIED),
    ],
)
def test_what_each_outcome_says_about_the_payer(outcome: SendResult | Settled, word: Signal) -> None:
    assert signal_of(outcome) is word


def test_a_claim_whose_answer_was_unclear_before_says_no_more_about_the_payer() -> None:
    assert signal_of(AnswerLost("x", "HTTP:500"), again=True) is Signal.UNCLEAR_AGAIN
    assert signal_of(AnswerLost("x", "HTTP:503", payer_down=True), again=True) is Signal.OUTAGE
    assert signal_of(Accepted("1"), again=True) is Signal.ANSWERED
