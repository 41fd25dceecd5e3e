"""When a batch of a known number is a known claim, and when its number is free again."""

import pytest

from domain.batches import BatchIdentity, is_same_batch, leaves_batch_free
from domain.claim_state import ClaimState

GIVEN = BatchIdentity("content", "provider 1")


@pytest.mark.parametrize("provider", ["provider 1", "provider 2", None])
def test_the_same_content_is_the_same_batch_whoever_sends_it(provider: str | None) -> None:
    assert is_same_batch(BatchIdentity("content", provider), GIVEN)


def test_the_same_providers_number_is_the_same_batch_whatever_its_content() -> None:
    assert is_same_batch(BatchIdentity("other", "provider 1"), GIVEN)
    assert is_same_batch(BatchIdentity(None, "provider 1"), GIVEN)


def test_another_providers_batch_of_the_same_number_is_another_one() -> None:
    assert not is_same_batch(BatchIdentity("other", "provider 2"), GIVEN)


def test_whose_batch_it_is_is_not_guessed_when_nobody_can_tell() -> None:
    assert is_same_batch(BatchIdentity("other", None), GIVEN)


@pytest.mark.parametrize("state", [ClaimState.CANCELLED, ClaimState.WRITTEN_OFF])
def test_a_claim_given_up_leaves_its_batch_free_unless_it_may_have_arrived(state: ClaimState) -> None:
    assert leaves_batch_free(state, may_have_arrived=False)
    assert not leaves_batch_free(state, may_have_arrived=True)


@pytest.mark.parametrize("state", sorted(set(ClaimState) - {ClaimState.CANCELLED, ClaimState.WRITTEN_OFF}))
def test_any_other_claim_keeps_its_batch(state: ClaimState) -> None:
    assert not leaves_batch_free(state, may_have_arrived=False)
