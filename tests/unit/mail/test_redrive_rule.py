"""Redrive by waves: a few first, then more, never faster than the limit, and not on when they fail again."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.redrive import (
    FailsAgain,
    NextWave,
    RedriveDone,
    RedriveTerms,
    Wave,
    WaveUnderWay,
    after_wave,
    next_wave,
)

TERMS = RedriveTerms()


def test_waves_double_from_five_up_to_what_a_minute_allows() -> None:
    assert [TERMS.wave_size(number) for number in range(1, 8)] == [5, 10, 20, 40, 80, 100, 100]
    assert RedriveTerms(per_minute=3).wave_size(1) == 3


@given(st.integers(1, 10_000))
def test_nobody_leaves_faster_than_the_limit(per_minute: int) -> None:
    terms = RedriveTerms(per_minute=per_minute)
    in_a_minute = timedelta(minutes=1) / terms.pause * terms.at_once
    assert in_a_minute <= per_minute * 1.000_1
    assert terms.pause <= timedelta(minutes=1)


@pytest.mark.parametrize(
    ("wave", "left", "follows"),
    [
        (Wave(1, 5, sent=4), 25, WaveUnderWay()),
        (Wave(1, 5, sent=5), 25, NextWave(2, 10)),
        (Wave(1, 5, sent=4, failed=1), 25, NextWave(2, 10)),
        (Wave(2, 10, sent=10), 15, NextWave(3, 15)),
        (Wave(2, 10, sent=8, failed=2), 0, RedriveDone()),
        (Wave(1, 5, failed=2), 25, FailsAgain(Wave(1, 5, failed=2))),
        (Wave(3, 20, sent=15, failed=5), 0, FailsAgain(Wave(3, 20, sent=15, failed=5))),
        (Wave(1, 0), 25, NextWave(2, 10)),
    ],
)
def test_a_wave_is_over_first_unless_too_many_of_it_have_failed(
    wave: Wave, left: int, follows: object
) -> None:
    assert after_wave(wave, left, TERMS) == follows


@given(st.integers(1, 1_000), st.data())
def test_no_wave_follows_one_of_which_more_failed_than_may(size: int, data: st.DataObject) -> None:
    failed = data.draw(st.integers(0, size))
    percent = data.draw(st.integers(0, 100))
    follows = after_wave(
        Wave(1, size, sent=size - failed, failed=failed), 10, RedriveTerms(stop_percent=percent)
    )
    assert isinstance(follows, FailsAgain) is (failed / size > percent / 100)


@given(st.integers(0, 3_000), st.integers(1, 500))
def test_waves_without_failures_bring_every_letter_back_once(number: int, per_minute: int) -> None:
    terms, left = RedriveTerms(per_minute=per_minute), number
    step: object = next_wave(1, left, terms)
    while isinstance(step, NextWave):
        assert 0 < step.size <= per_minute
        left -= step.size
        step = after_wave(Wave(step.number, step.size, sent=step.size), left, terms)
    assert (left, step) == (0, RedriveDone())
