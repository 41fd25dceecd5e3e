"""The limits of mail: so many under way, so many in any minute."""

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.limits import BUSY, MINUTE, MailLimits, MailMeter, room, taken

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Ask:
    """After a pause somebody wants so many."""

    pause: timedelta
    wanted: int


def seconds(most: float) -> st.SearchStrategy[timedelta]:
    return st.floats(0, most).map(lambda number: timedelta(seconds=number))


asks = st.lists(st.builds(Ask, seconds(20), st.integers(1, 12)), max_size=120)


@st.composite
def limits(draw: st.DrawFn) -> MailLimits:
    per_minute = draw(st.integers(1, 150))
    burst = draw(st.none() | st.integers(1, per_minute))
    return MailLimits(per_minute, None, burst)


def sends(asked: list[Ask], given: MailLimits) -> list[datetime]:
    """When mail left."""
    now, meter, left = NOW, MailMeter("all", NOW), list[datetime]()
    for ask in asked:
        now += ask.pause
        number = min(ask.wanted, room(meter, given, under_way=0, now=now).number)
        meter = taken(meter, given, number, now)
        left += [now] * number
    return left


@given(limits(), asks)
def test_no_minute_has_more_than_its_number_whatever_is_asked_for(
    given_limits: MailLimits, asked: list[Ask]
) -> None:
    left = sends(asked, given_limits)
    for first, at in enumerate(left):
        within = bisect_left(left, at + MINUTE) - first
        assert within <= (given_limits.per_minute or 0)


@given(limits(), asks)
def test_who_may_not_send_now_may_at_the_moment_named(given_limits: MailLimits, asked: list[Ask]) -> None:
    now, meter = NOW, MailMeter("all", NOW)
    for ask in asked:
        now += ask.pause
        found = room(meter, given_limits, under_way=0, now=now)
        if not found.number:
            assert found.again_at > now
            assert room(meter, given_limits, under_way=0, now=found.again_at).number == 1
        meter = taken(meter, given_limits, min(found.number, ask.wanted), now)


def test_by_default_5_are_under_way_and_100_leave_in_a_minute() -> None:
    default = MailLimits()
    assert (default.at_once, default.per_minute) == (5, 100)
    assert room(MailMeter("all", NOW), default, under_way=0, now=NOW).number == 5


@pytest.mark.parametrize(("under_way", "number"), [(0, 5), (4, 1), (5, 0), (9, 0)])
def test_no_more_are_under_way_than_may_be(under_way: int, number: int) -> None:
    found = room(MailMeter("all", NOW), MailLimits(None, 5), under_way=under_way, now=NOW)
    assert found.number == number
    assert found.again_at == (NOW if number else NOW + BUSY)


def test_a_steady_sender_has_nine_tenths_of_the_minutes_number_and_a_burst_of_a_tenth() -> None:
    given_limits = MailLimits(100, None)
    eager = [Ask(timedelta(seconds=0.1), 12)] * 3_000
    left = sends(eager, given_limits)
    assert left.count(NOW + timedelta(seconds=0.1)) == 10
    assert 91 * 5 <= len(left) <= 91 * 5 + 10


def test_a_moment_that_a_wrong_clock_wrote_holds_nobody_for_longer_than_a_pace() -> None:
    ahead = MailMeter("all", NOW + timedelta(days=3))
    found = room(ahead, MailLimits(100, None), under_way=0, now=NOW)
    assert found.number == 0
    assert found.again_at <= NOW + MailLimits(100, None).interval


@pytest.mark.parametrize("wrong", [(0, 5, None), (100, 0, None), (100, 5, 0), (100, 5, 101)])
def test_limits_that_nothing_passes_are_refused(wrong: tuple[int, int, int | None]) -> None:
    with pytest.raises(ValueError, match=r"limit|burst"):
        MailLimits(*wrong)
