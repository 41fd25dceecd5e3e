"""Who may send a claim: nobody once it has ended, and else the process whose claim it is."""

import pytest

from domain.claim_state import ENDS, ClaimState
from domain.permission import AlreadyAccepted, Ended, OfAnother, Standing, of_another, sending_bar

OURS, THEIRS = 1, 2
OPEN = sorted(frozenset(ClaimState) - ENDS)


@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize("owner", [None, OURS])
def test_an_open_claim_is_sent_by_its_own_process_or_by_the_first_that_comes(
    state: ClaimState, owner: int | None
) -> None:
    assert sending_bar(Standing(state, owner), OURS) is None


@pytest.mark.parametrize("state", OPEN)
def test_an_open_claim_of_another_process_is_its_own(state: ClaimState) -> None:
    assert sending_bar(Standing(state, THEIRS), OURS) == OfAnother(THEIRS)
    assert of_another(Standing(state, THEIRS), OURS) == OfAnother(THEIRS)


@pytest.mark.parametrize("owner", [None, OURS, THEIRS])
@pytest.mark.parametrize("protocol", [None, "P-1"])
def test_an_accepted_claim_is_answered_with_its_number_whoever_asks(
    owner: int | None, protocol: str | None
) -> None:
    accepted = Standing(ClaimState.ACCEPTED, owner, protocol)
    assert sending_bar(accepted, OURS) == AlreadyAccepted(protocol)


@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize("owner", [None, OURS, THEIRS])
def test_an_acceptance_that_stands_is_one_wherever_the_claim_stands(
    state: ClaimState, owner: int | None
) -> None:
    assert sending_bar(Standing(state, owner, "P-1"), OURS) == AlreadyAccepted("P-1")


@pytest.mark.parametrize("state", [ClaimState.CANCELLED, ClaimState.WRITTEN_OFF])
@pytest.mark.parametrize("owner", [None, OURS, THEIRS])
def test_a_claim_that_people_ended_is_sent_by_nobody(state: ClaimState, owner: int | None) -> None:
    assert sending_bar(Standing(state, owner), OURS) == Ended(state)


@pytest.mark.parametrize("end", sorted(ENDS))
def test_a_claim_that_has_ended_is_no_processs(end: ClaimState) -> None:
    assert of_another(Standing(end, THEIRS), OURS) is None
