"""The schedule's arithmetic: limits, windows, rounding, and the derived draw."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.backoff import BackoffCalculation, RetryLimits, base_wait, calculate, derive_draw, window
from domain.errors import InvalidPolicy

LAST = 2**64 - 1


def test_the_defaults_are_the_rules_numbers() -> None:
    assert RetryLimits() == RetryLimits(5, 300, 300, 14_400, 2, 20)


def test_a_draw_is_placed_in_the_window_in_whole_seconds() -> None:
    assert calculate(RetryLimits(), 2, 0) == BackoffCalculation(2, 1200, 960, 1440, 0.0, 960)
    assert calculate(RetryLimits(), 2, 2**63) == BackoffCalculation(2, 1200, 960, 1440, 0.5, 1200)
    assert calculate(RetryLimits(), 2, LAST).seconds == 1439


def test_the_last_second_is_left_for_rounding_the_time_up() -> None:
    assert calculate(RetryLimits(), 0, LAST).seconds == 359


@pytest.mark.parametrize(
    ("seconds", "minutes"), [(0, 0), (29, 0), (30, 1), (89, 1), (90, 2), (300, 5), (331, 6)]
)
def test_minutes_are_the_nearest_whole_number(seconds: int, minutes: int) -> None:
    assert BackoffCalculation(0, 0, 0, 0, 0.0, seconds).minutes == minutes


def test_a_window_is_rounded_inwards() -> None:
    limits = RetryLimits(base_seconds=301, floor_seconds=1, jitter_percent=33)
    assert window(limits, 0) == (202, 400)


def test_without_jitter_the_window_is_one_wait() -> None:
    limits = RetryLimits(jitter_percent=0)
    assert window(limits, 1) == (600, 600)
    assert calculate(limits, 1, LAST).seconds == 600


def test_full_jitter_still_keeps_the_floor() -> None:
    assert window(RetryLimits(jitter_percent=100), 1) == (300, 1200)


def test_the_draw_is_the_same_today_and_in_ten_years() -> None:
    """Auditors recompute it: these numbers must never change."""
    assert derive_draw("CLM-001-123", 1, version="1", key="reenvio") == 5_841_333_372_474_420_176
    assert derive_draw("CLM-001-123", 2, version="1", key="reenvio") == 3_485_628_413_237_254_195


def test_the_draw_depends_on_each_of_its_arguments() -> None:
    draws = {
        derive_draw("CLM-001-123", 1, version="1", key="a"),
        derive_draw("CLM-001-124", 1, version="1", key="a"),
        derive_draw("CLM-001-123", 2, version="1", key="a"),
        derive_draw("CLM-001-123", 1, version="2", key="a"),
        derive_draw("CLM-001-123", 1, version="1", key="b"),
    }
    assert len(draws) == 5
    assert all(0 <= draw <= LAST for draw in draws)


def test_parts_of_the_draw_do_not_run_into_each_other() -> None:
    assert derive_draw("CLM-A-1", 11, version="1", key="a") != derive_draw(
        "CLM-A-11", 1, version="1", key="a"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [({"max_retries": 0}, "max_retries is 0: choose 1 to 50"), ({"max_retries": 51}, "choose 1 to 50"),
     ({"factor": 0}, "factor is 0: choose 1 to 10"), ({"factor": 11}, "factor is 11: choose 1 to 10"),
     ({"jitter_percent": -1}, "jitter_percent is -1: choose 0 to 100"),
     ({"jitter_percent": 101}, "jitter_percent is 101: choose 0 to 100"),
     ({"floor_seconds": 0}, "waits are shortest 0 s, first 300 s, longest 14400 s: "
      "they must grow in this order, from 1 s up to a year"),
     ({"base_seconds": 299}, "waits are"), ({"cap_seconds": 299}, "waits are"),
     ({"cap_seconds": 31_536_001}, "waits are")],
)  # fmt: skip
def test_impossible_limits_are_refused_with_the_number(change: dict[str, int], words: str) -> None:
    with pytest.raises(InvalidPolicy, match=words) as refused:
        RetryLimits(**change)
    assert len(refused.value.problems) == 1


@pytest.mark.parametrize(
    "change",
    [{"max_retries": 1}, {"max_retries": 50}, {"factor": 1}, {"factor": 10}, {"jitter_percent": 0},
     {"jitter_percent": 100}, {"floor_seconds": 1}, {"cap_seconds": 300}, {"cap_seconds": 31_536_000}],
)  # fmt: skip
def test_limits_at_the_edge_are_accepted(change: dict[str, int]) -> None:
    RetryLimits(**change)


def test_all_problems_are_reported_together() -> None:
    with pytest.raises(InvalidPolicy) as refused:
        RetryLimits(max_retries=0, factor=0)
    assert (
        str(refused.value) == "Policy rejected: max_retries is 0: choose 1 to 50; factor is 0: choose 1 to 10"
    )


@st.composite
def any_limits(draw: st.DrawFn) -> RetryLimits:
    floor = draw(st.integers(1, 100_000))
    base = draw(st.integers(floor, 200_000))
    cap = draw(st.integers(base, 31_536_000))
    return RetryLimits(
        draw(st.integers(1, 50)), base, floor, cap, draw(st.integers(1, 10)), draw(st.integers(0, 100))
    )


@given(any_limits(), st.integers(0, 49), st.integers(0, LAST))
def test_the_wait_is_inside_the_window_of_any_policy(limits: RetryLimits, count: int, draw: int) -> None:
    backoff = calculate(limits, count, draw)
    base = base_wait(limits, count)
    assert limits.floor_seconds <= backoff.low_seconds <= backoff.seconds <= backoff.high_seconds
    assert backoff.high_seconds <= limits.cap_seconds
    assert abs(backoff.seconds - base) * 100 <= base * limits.jitter_percent


@given(any_limits(), st.integers(0, 48))
def test_base_waits_never_shrink_and_grow_until_the_cap(limits: RetryLimits, count: int) -> None:
    now, following = base_wait(limits, count), base_wait(limits, count + 1)
    assert following >= now
    assert following > now or following == limits.cap_seconds or limits.factor == 1


@given(any_limits(), st.integers(0, 49))
def test_a_larger_draw_never_waits_less(limits: RetryLimits, count: int) -> None:
    waits = [calculate(limits, count, draw).seconds for draw in (0, 2**62, 2**63, LAST)]
    assert waits == sorted(waits)
