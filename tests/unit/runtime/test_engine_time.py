"""What is left of a lock, whatever the two clocks say."""

from hypothesis import given
from hypothesis import strategies as st

from workers.runtime.executor import FORGET_SECONDS, EngineTime

LOCK = 10.0


class Ours:
    """Our clock, moved by hand."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@given(st.floats(-1e9, 1e9), st.floats(0, FORGET_SECONDS - 0.1))
def test_a_job_that_waited_has_that_much_less_left(engine_ahead: float, waited: float) -> None:
    ours = Ours()
    time = EngineTime(ours)
    given_out = ours.now + engine_ahead
    assert abs(time.left(given_out + LOCK, LOCK) - LOCK) < 1e-3
    ours.now += waited
    assert abs(time.left(given_out + LOCK, LOCK) - (LOCK - waited)) < 1e-3


def test_a_jump_of_the_engines_clock_ends_older_locks() -> None:
    ours = Ours()
    time = EngineTime(ours)
    assert time.left(ours.now + LOCK, LOCK) == LOCK
    jumped = ours.now + 3600
    assert time.left(jumped + LOCK, LOCK) == LOCK
    assert time.left(ours.now + LOCK, LOCK) < 0


def test_a_clock_set_back_is_believed_after_a_minute() -> None:
    ours = Ours()
    time = EngineTime(ours)
    time.left(ours.now + 3600 + LOCK, LOCK)
    assert time.left(ours.now + LOCK, LOCK) < 0
    ours.now += FORGET_SECONDS + 1
    assert time.left(ours.now + LOCK, LOCK) == LOCK
