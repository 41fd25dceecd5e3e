"""What may become of a claim: forward until it ends, and out of an end only by a new send or a review."""

from typing import get_args

import pytest

from domain.claim_state import CLOSABLE, ENDS, FOLLOWS, ClaimState, SendBeginning, predecessors

RECEIVED, SUBMITTING, FAILED, WAITING = (
    ClaimState.RECEIVED,
    ClaimState.SUBMITTING,
    ClaimState.FAILED,
    ClaimState.WAITING,
)
IN_REVIEW, ACCEPTED, CANCELLED, WRITTEN_OFF = (
    ClaimState.IN_REVIEW,
    ClaimState.ACCEPTED,
    ClaimState.CANCELLED,
    ClaimState.WRITTEN_OFF,
)
OPEN = frozenset(ClaimState) - ENDS


def test_every_state_has_its_line_in_the_table() -> None:
    assert set(FOLLOWS) == set(ClaimState)


def test_a_state_is_final_exactly_when_it_is_an_end() -> None:
    assert {state for state in ClaimState if state.is_final} == {ACCEPTED, CANCELLED, WRITTEN_OFF}


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (SUBMITTING, ACCEPTED),  # the payer has taken it
        (SUBMITTING, SUBMITTING),  # the payer has it, but its protocol is lost
        (SUBMITTING, FAILED),
        (SUBMITTING, WAITING),  # nothing was sent
        (FAILED, WAITING),  # decided
        (FAILED, FAILED),  # decided: given up
        (FAILED, IN_REVIEW),
        (SUBMITTING, IN_REVIEW),
    ],
)
def test_the_model_goes_these_ways(earlier: ClaimState, later: ClaimState) -> None:
    assert earlier.may_become(later)


@pytest.mark.parametrize("earlier", sorted({RECEIVED, WAITING, IN_REVIEW}))
def test_decisions_of_a_model_that_sends_by_itself_may_let_a_claim_wait(earlier: ClaimState) -> None:
    assert earlier.may_become(WAITING)


@pytest.mark.parametrize("end", sorted(ENDS))
def test_nothing_leaves_an_end_but_a_review_and_a_payer_that_took_the_claim(end: ClaimState) -> None:
    left = {other for other in ClaimState if end.may_become(other)} - {end}
    assert left == {IN_REVIEW} | ({ACCEPTED} - {end})


@pytest.mark.parametrize("state", list(ClaimState))
def test_a_person_can_be_asked_about_every_claim(state: ClaimState) -> None:
    assert state.may_become(IN_REVIEW)


def test_every_open_claim_can_be_ended_by_a_person() -> None:
    assert CLOSABLE == OPEN


def test_a_late_answer_takes_no_claim_away_from_a_person() -> None:
    assert not IN_REVIEW.may_become(FAILED)
    assert not IN_REVIEW.may_become(SUBMITTING)
    assert not any(IN_REVIEW.may_become(end) for end in ENDS)


def test_a_late_answer_ends_no_wait_as_if_the_claim_were_on_its_way() -> None:
    assert predecessors(SUBMITTING) == {SUBMITTING}


def test_nothing_becomes_received() -> None:
    assert predecessors(RECEIVED) == frozenset()


def test_a_send_begins_by_leaving_by_waiting_or_by_giving_up() -> None:
    assert set(get_args(SendBeginning)) == {SUBMITTING, WAITING, FAILED}


@pytest.mark.parametrize("state", list(ClaimState))
def test_predecessors_are_the_table_read_backwards(state: ClaimState) -> None:
    assert {one for one in ClaimState if state in FOLLOWS[one]} == predecessors(state)
