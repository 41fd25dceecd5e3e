"""When something stands still, and when it is pushed on."""

from dataclasses import replace
from datetime import datetime

from domain.standing import APART, HEAL_AGAIN, Late, Look, StandingKind, Standstill, judge
from tests.support.builders import NOW, later

LATE = Late(StandingKind.JOB, "CLM-1-1", NOW)
SEEN = judge(LATE, None, Look(later(minutes=11), None))


def look(at: datetime, moved: datetime | None) -> Standstill:
    return judge(LATE, SEEN, Look(at, moved))


def test_one_look_proves_nothing() -> None:
    assert (SEEN.confirmed_at, SEEN.healed_at) == (None, None)
    assert look(SEEN.seen_at + APART / 2, SEEN.seen_at + APART / 3) == SEEN


def test_what_is_late_at_two_looks_while_others_moved_is_healed() -> None:
    second = SEEN.seen_at + APART
    assert look(second, second) == replace(SEEN, confirmed_at=second, healed_at=second, heals=1)


def test_while_nothing_moves_it_is_told_and_not_healed() -> None:
    second = SEEN.seen_at + APART
    for moved in (None, SEEN.seen_at):
        assert look(second, moved) == replace(SEEN, confirmed_at=second)


def test_what_moved_before_is_no_proof_for_a_later_heal() -> None:
    healed = look(SEEN.seen_at + APART, SEEN.seen_at + APART)
    assert healed.healed_at
    again = healed.healed_at + HEAL_AGAIN
    assert judge(LATE, healed, Look(again, healed.healed_at)) == healed


def test_each_is_healed_at_most_once_in_a_while() -> None:
    healed = look(SEEN.seen_at + APART, SEEN.seen_at + APART)
    assert healed.healed_at
    soon, due = healed.healed_at + HEAL_AGAIN / 2, healed.healed_at + HEAL_AGAIN
    assert judge(LATE, healed, Look(soon, soon)) == healed
    assert judge(LATE, healed, Look(due, due)).heals == 2


def test_who_has_moved_and_is_late_again_is_looked_at_anew() -> None:
    moved = replace(LATE, since=later(minutes=5))
    at = SEEN.seen_at + APART
    assert judge(moved, SEEN, Look(at, at)) == Standstill(moved.kind, moved.subject, moved.since, at)
