"""The deviation of waits from an even spread: what chance explains is none, what it does not is measured."""

import random

import pytest

from domain.backoff import RetryLimits, calculate, derive_draw, window
from domain.uniformity import Draw, deviation


def draws(number: int, *, low: int = 300, high: int = 360, part: float = 1.0) -> list[Draw]:
    """Even draws over the first part of a window."""
    luck, width = random.Random(1), round((high - low) * part)
    return [Draw(low + luck.randrange(width), low, high) for _ in range(number)]


@pytest.mark.parametrize("number", [30, 100, 1_000, 20_000])
@pytest.mark.parametrize("high", [360, 361, 397, 480])
def test_even_draws_hardly_deviate_however_many_and_wide(number: int, high: int) -> None:
    found = deviation(draws(number, high=high))
    assert found is not None
    assert found < 0.1


def test_our_own_jitter_is_even() -> None:
    limits = RetryLimits()
    made = [
        Draw(
            calculate(limits, count, derive_draw(f"CLM-{n}", count, version="1", key="k")).seconds,
            *window(limits, count),
        )
        for n in range(2_000)
        for count in range(5)
    ]
    assert deviation(made) == 0


def test_draws_from_half_the_window_deviate_by_all_that_is_missing_less_chance() -> None:
    found = deviation(draws(10_000, part=0.5))
    assert found == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize("number", [30, 300])
def test_a_jitter_that_is_stuck_is_seen_with_few_draws(number: int) -> None:
    found = deviation([Draw(300, 300, 360)] * number)
    assert found is not None
    assert found > 0.3


def test_a_tenth_that_is_left_out_is_seen_where_there_are_enough_draws() -> None:
    kept = [draw for draw in draws(5_000) if not 306 <= draw.seconds < 312]
    found = deviation(kept)
    assert found is not None
    assert 0.3 < found <= 1.0


def test_too_few_draws_prove_nothing() -> None:
    assert deviation([Draw(300, 300, 360)] * 29) is None


def test_a_window_too_narrow_to_tell_is_left_out() -> None:
    assert deviation([Draw(300, 300, 309)] * 1_000) is None


def test_a_wait_outside_its_window_belongs_to_the_nearest_tenth() -> None:
    assert deviation([Draw(5_000, 300, 360)] * 100) == deviation([Draw(359, 300, 360)] * 100)
    assert deviation([Draw(1, 300, 360)] * 100) == deviation([Draw(300, 300, 360)] * 100)
