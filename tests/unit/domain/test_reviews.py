"""What a review allows, what its person must know, and whether the payer has the claim meanwhile."""

import pytest

from domain.refusals import ClaimRefusal
from domain.reviews import (
    AtPayer,
    LostAnswer,
    ReviewDecision,
    ReviewReason,
    allowed,
    at_payer,
    hints,
    reason_after_lost_answer,
    require_allowed,
    require_cancellable,
)

CLAIM = "CLM-1-1"
RECOVERED = ReviewDecision.PROTOCOL_RECOVERED
MISSING = ReviewReason.PROTOCOL_MISSING
OTHERS = sorted(set(ReviewReason) - {MISSING})
MAY_HAVE = "the payer may have it, an answer was lost: ask the payer before it is sent again"


@pytest.mark.parametrize("decision", [ReviewDecision.RESEND, ReviewDecision.CORRECTED])
def test_what_the_payer_has_does_not_go_out_again(decision: ReviewDecision) -> None:
    with pytest.raises(ClaimRefusal) as refused:
        require_allowed(CLAIM, MISSING, decision, None)
    assert str(refused.value) == (
        "The payer has CLM-1-1 already, so it must not go out again: "
        "decide PROTOCOL_RECOVERED with the number the payer tells you, or WRITE_OFF."
    )


@pytest.mark.parametrize("reason", [*OTHERS, "a model's own"])
@pytest.mark.parametrize("decision", sorted(set(ReviewDecision) - {RECOVERED}))
def test_any_other_review_allows_every_decision(reason: str, decision: ReviewDecision) -> None:
    require_allowed(CLAIM, reason, decision, None)


@pytest.mark.parametrize("reason", list(ReviewReason))
def test_a_claim_may_always_be_written_off_or_its_protocol_recovered(reason: ReviewReason) -> None:
    require_allowed(CLAIM, reason, ReviewDecision.WRITE_OFF, None)
    require_allowed(CLAIM, reason, RECOVERED, "900000000001")


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_recovered_protocol_needs_its_number(nothing: str | None) -> None:
    with pytest.raises(ClaimRefusal, match=r"^PROTOCOL_RECOVERED needs the protocol number"):
        require_allowed(CLAIM, MISSING, RECOVERED, nothing)


@pytest.mark.parametrize("decision", sorted(set(ReviewDecision) - {RECOVERED}))
def test_a_protocol_number_is_for_nothing_else(decision: ReviewDecision) -> None:
    with pytest.raises(ClaimRefusal, match=f"is for PROTOCOL_RECOVERED, not for {decision}"):
        require_allowed(CLAIM, ReviewReason.PERMANENT_ERROR, decision, "900000000001")


@pytest.mark.parametrize("lost", [True, False])
def test_the_payer_has_a_claim_whose_protocol_is_missing(lost: bool) -> None:
    assert at_payer(MISSING, answer_was_lost=lost) is AtPayer.YES


@pytest.mark.parametrize("reason", [None, *OTHERS])
def test_the_payer_may_have_a_claim_whose_answer_was_lost(reason: str | None) -> None:
    assert at_payer(reason, answer_was_lost=True) is AtPayer.MAYBE
    assert at_payer(reason, answer_was_lost=False) is AtPayer.NO


def test_what_the_payer_cannot_have_is_cancelled() -> None:
    require_cancellable(CLAIM, AtPayer.NO)


@pytest.mark.parametrize(
    ("where", "why"), [(AtPayer.YES, "The payer has CLM-1-1 already"), (AtPayer.MAYBE, "The payer may have")]
)
def test_what_the_payer_has_or_may_have_is_cancelled_only_knowingly(where: AtPayer, why: str) -> None:
    with pytest.raises(ClaimRefusal, match=rf"^{why}.* cancel with --although-sent\.$"):
        require_cancellable(CLAIM, where)


def test_retries_that_ran_out_after_a_lost_answer_prove_nothing() -> None:
    assert reason_after_lost_answer(ReviewReason.MAX_RETRIES_EXCEEDED) == ReviewReason.ARRIVAL_UNKNOWN


@pytest.mark.parametrize("reason", [ReviewReason.PERMANENT_ERROR, MISSING, "a model's own"])
def test_any_other_reason_stands_after_a_lost_answer(reason: str) -> None:
    assert reason_after_lost_answer(reason) == reason


def test_a_guides_refusal_after_a_lost_answer_proves_nothing() -> None:
    refused = ReviewReason.PERMANENT_ERROR
    assert reason_after_lost_answer(refused, guide_is_known=True) == ReviewReason.ARRIVAL_UNKNOWN
    assert reason_after_lost_answer(MISSING, guide_is_known=True) == MISSING


@pytest.mark.parametrize("decision", ReviewDecision)
def test_while_arrival_is_unknown_every_decision_is_open(decision: ReviewDecision) -> None:
    protocol = "900000000001" if decision is ReviewDecision.PROTOCOL_RECOVERED else None
    require_allowed(CLAIM, ReviewReason.ARRIVAL_UNKNOWN, decision, protocol)


def test_whoever_decides_learns_what_follows_from_the_payers_word_on_the_guide() -> None:
    [first, ways] = hints(ReviewReason.PERMANENT_ERROR, LostAnswer(None, False, guide_is_known=True))
    assert first == MAY_HAVE
    assert all(str(decision) in ways for decision in ReviewDecision)


def test_whoever_decides_learns_that_the_payer_may_have_it() -> None:
    assert list(hints(ReviewReason.PERMANENT_ERROR, LostAnswer(None, corrected_since=False))) == [MAY_HAVE]


def test_whoever_looks_for_a_protocol_knows_that_the_payer_has_it() -> None:
    assert list(hints(MISSING, LostAnswer(None, corrected_since=False))) == []


def test_a_damaged_answer_and_a_correction_since_are_named() -> None:
    assert list(hints(MISSING, LostAnswer("900000000007", corrected_since=True))) == [
        "a damaged answer names protocol 900000000007: ask the payer whether it is right",
        "the file was corrected since: the payer may hold the earlier one",
    ]


@pytest.mark.parametrize("reason", ReviewReason)
@pytest.mark.parametrize("decision", ReviewDecision)
def test_what_is_called_allowed_is_not_refused_and_the_rest_is(
    reason: ReviewReason, decision: ReviewDecision
) -> None:
    protocol = "P-1" if decision is ReviewDecision.PROTOCOL_RECOVERED else None
    if decision in allowed(reason):
        require_allowed("CLM-1", reason, decision, protocol)
    else:
        with pytest.raises(ClaimRefusal):
            require_allowed("CLM-1", reason, decision, protocol)
