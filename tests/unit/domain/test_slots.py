"""Slots: when the payer opens, and how those that waited share the pace with new claims."""

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from domain.payer_status import PayerLimits, PayerStatus, PlannedDowntime
from domain.slots import Slot, Wait, draw, draw_timer, draw_waiting, give, opening, slot_of, with_new_lanes
from gateways.tiss.hours import PostingHours

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)
LIMITS = PayerLimits(grace=timedelta())
WELL = PayerStatus("p", NOW, proven=True)
FREED = with_new_lanes(PayerStatus("p", NOW, slots_until=NOW), LIMITS, NOW)


def at(**by: float) -> datetime:
    return NOW + timedelta(**by)


def waiting(number: int) -> list[Wait]:
    return [Wait(f"c{n:03}", "p", NOW, at(hours=1)) for n in range(number)]


def test_a_window_over_the_opening_delays_it() -> None:
    hours = PostingHours(opens=time(8), closes=time(9), zone="UTC")
    morning = datetime(2026, 1, 13, 8, tzinfo=UTC)
    limits = PayerLimits(hours=hours, windows=(PlannedDowntime(morning, morning + timedelta(hours=2)),))
    assert opening(limits, NOW) == morning + timedelta(days=1)


def test_those_that_waited_have_the_whole_pace_where_no_new_claims_come() -> None:
    _, slots = give(FREED, waiting(4), LIMITS, NOW)
    assert [slot.at for slot in slots] == [at(seconds=1 + n) for n in range(4)]


def test_those_that_waited_share_the_pace_with_new_ones() -> None:
    status, new = FREED, []
    for _ in range(4):
        status, slot = draw(status, LIMITS, NOW)
        new.append(slot)
    assert new == [at(seconds=second) for second in (0, 2, 4, 6)]
    status, slots = give(status, waiting(6), LIMITS, NOW)
    assert [slot.at for slot in slots] == [at(seconds=second) for second in (1, 3, 5, 7, 9, 10)]


def test_new_claims_have_the_whole_pace_again_when_nobody_waits() -> None:
    status, slots = give(FREED, [], LIMITS, NOW)
    assert (slots, status.slots_until, status.next_wait_slot_at) == ((), None, None)
    status, _ = draw(status, LIMITS, NOW)
    assert draw(status, LIMITS, NOW)[1] == at(seconds=1)


def test_without_a_pace_those_that_waited_still_do_not_come_all_at_once() -> None:
    limits = PayerLimits(per_minute=None)
    _, slots = give(FREED, waiting(100), limits, NOW)
    assert len({slot.at for slot in slots}) == 100


def test_a_slot_of_an_earlier_time_of_health_is_void() -> None:
    wait = Wait("c", "p", NOW, NOW, slot_at=at(minutes=1), woken_at=NOW)
    assert slot_of(wait, WELL) == at(minutes=1)
    assert slot_of(wait, PayerStatus("p", at(seconds=1))) is None
    assert slot_of(Wait("c", "p", NOW, NOW, slot_at=at(minutes=1)), WELL) is None


windows = st.builds(
    lambda start, length: PlannedDowntime(at(seconds=start), at(seconds=start + length)),
    st.integers(-600, 3600),
    st.integers(1, 3600),
)
limits_drawn = st.builds(
    PayerLimits,
    per_minute=st.integers(1, 6000),
    share=st.sampled_from([0.1, 0.5, 0.75, 1.0]),
    windows=st.lists(windows, max_size=2).map(tuple),
    hours=st.none() | st.just(PostingHours(opens=time(8), closes=time(11), zone="UTC")),
)
moments = st.integers(0, 7200).map(lambda seconds: at(seconds=seconds))
statuses = st.builds(
    PayerStatus,
    payer_id=st.just("p"),
    changed_at=st.just(NOW),
    not_before=st.none() | moments,
    paced_until=st.none() | moments,
    next_slot_at=st.none() | moments,
    slots_until=moments,
)


@given(statuses, limits_drawn, st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_page_by_page_all_get_a_slot_of_their_own_in_their_order_at_the_pace_and_in_the_payers_hours(
    status: PayerStatus, limits: PayerLimits, pages: list[int]
) -> None:
    status, line = with_new_lanes(status, limits, NOW), waiting(sum(pages))
    given_slots: list[Slot] = []
    first = status.slots_until
    for page in pages:
        status, slots = give(status, line[len(given_slots) : len(given_slots) + page], limits, NOW)
        given_slots += slots
    assert [slot.claim_id for slot in given_slots] == [wait.claim_id for wait in line]
    assert all(after.at - before.at >= limits.interval for before, after in pairwise(given_slots))
    assert first is not None
    for slot in given_slots:
        assert opening(limits, slot.at) == slot.at >= first > NOW
        assert status.not_before is None or slot.at >= status.not_before


@given(st.integers(1, 6000), st.integers(1, 200))
def test_in_open_hours_and_without_new_claims_no_slot_of_the_pace_is_left_empty(
    per_minute: int, number: int
) -> None:
    limits = PayerLimits(per_minute=per_minute)
    _, slots = give(FREED, waiting(number), limits, NOW)
    assert {after.at - before.at for before, after in pairwise(slots)} <= {limits.interval}


@given(limits_drawn, st.lists(moments, min_size=2, max_size=40).map(sorted))
def test_the_timers_of_those_without_a_slot_never_end_as_a_herd(
    limits: PayerLimits, bases: list[datetime]
) -> None:
    status, timers = WELL, []
    for base in bases:
        status, timer = draw_timer(status, limits, base)
        timers.append(timer)
        assert timer >= base
    assert all(after - before >= limits.wait_interval for before, after in pairwise(timers))


def test_a_page_is_half_a_minute_of_the_pace_at_least_ten_claims_and_never_more_than_a_hundred() -> None:
    paces = (1, 60, 600, 6_000, None)
    assert [PayerLimits(per_minute=pace, grace=timedelta()).page for pace in paces] == [
        10,
        30,
        100,
        100,
        100,
    ]
    assert PayerLimits(per_minute=1, grace=timedelta()).ahead == timedelta(minutes=10)


def test_who_draws_in_the_lane_of_those_that_waited_moves_it_on() -> None:
    status, slot = draw_waiting(FREED, LIMITS, at(seconds=30))
    assert (slot, status.slots_until) == (at(seconds=30), at(seconds=31))
