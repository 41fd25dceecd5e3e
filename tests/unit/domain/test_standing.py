"""When something stands still, when it is nudged, and when that has healed it."""

from dataclasses import replace
from datetime import datetime, timedelta

from domain.standing import (
    APART,
    NUDGE_AGAIN,
    RAREST,
    Late,
    Look,
    StandingKind,
    Standstill,
    is_due,
    is_healed,
    judge,
)
from tests.support.builders import NOW, later

LATE = Late(StandingKind.JOB, "CLM-1-1", NOW)
SEEN = judge(LATE, None, Look(later(minutes=11), None))
SECOND = SEEN.seen_at + APART
STILL = judge(LATE, SEEN, Look(SECOND, None))
NUDGED = replace(STILL, nudged_at=SECOND, nudges=1)


def is_due_at(still: Standstill, now: datetime) -> bool:
    """While others move."""
    return is_due(still, Look(now, now))


def test_one_look_proves_nothing() -> None:
    assert (SEEN.confirmed_at, SEEN.nudged_at) == (None, None)
    assert judge(LATE, SEEN, Look(SEEN.seen_at + APART / 2, SEEN.seen_at + APART / 3)) == SEEN
    assert not is_due_at(SEEN, SECOND)


def test_what_is_late_at_two_looks_while_others_moved_is_nudged() -> None:
    assert replace(SEEN, confirmed_at=SECOND) == STILL
    assert is_due_at(STILL, SECOND)


def test_while_nothing_moves_it_is_told_and_not_nudged() -> None:
    for moved in (None, SEEN.seen_at):
        assert not is_due(STILL, Look(SECOND, moved))


def test_what_moved_before_is_no_proof_for_a_later_nudge() -> None:
    assert not is_due(NUDGED, Look(SECOND + NUDGE_AGAIN, SECOND))


def test_each_is_nudged_at_most_once_in_a_while() -> None:
    assert not is_due_at(NUDGED, SECOND + NUDGE_AGAIN / 2)
    assert is_due_at(NUDGED, SECOND + NUDGE_AGAIN)


def test_who_is_nudged_in_vain_is_nudged_more_and_more_rarely_and_never_forgotten() -> None:
    hours = replace(STILL, nudged_at=SEEN.seen_at + timedelta(hours=2), nudges=3)
    assert hours.nudged_at
    assert not is_due_at(hours, hours.nudged_at + timedelta(minutes=119))
    assert is_due_at(hours, hours.nudged_at + timedelta(hours=2))
    days = replace(STILL, nudged_at=SEEN.seen_at + timedelta(days=9), nudges=60)
    assert days.nudged_at
    assert is_due_at(days, days.nudged_at + RAREST)


def test_healed_is_who_goes_on_soon_after_a_nudge_that_the_engine_took() -> None:
    assert is_healed(NUDGED, SECOND + timedelta(minutes=5))
    assert not is_healed(STILL, SECOND + timedelta(minutes=5))
    assert not is_healed(replace(NUDGED, nudges=0), SECOND + timedelta(minutes=5))
    assert not is_healed(NUDGED, SECOND + NUDGE_AGAIN + timedelta(minutes=5))


def test_who_has_moved_and_is_late_again_is_looked_at_anew() -> None:
    moved = replace(LATE, since=later(minutes=5))
    at = SEEN.seen_at + APART
    assert judge(moved, SEEN, Look(at, at)) == Standstill(moved.kind, moved.subject, moved.since, at)


def test_what_a_clock_that_was_ahead_wrote_down_is_looked_at_anew() -> None:
    ahead = replace(SEEN, seen_at=later(days=30))
    first = judge(LATE, ahead, Look(SECOND, SECOND))
    assert first == Standstill(LATE.kind, LATE.subject, LATE.since, SECOND)
    assert judge(LATE, replace(STILL, nudged_at=later(days=30)), Look(SECOND, SECOND)) == first
