"""What a duplicate means depends on what happened before, and on who else holds its guides."""

import pytest

from domain.submission import (
    NOT_KNOWN,
    Accepted,
    Answered,
    AnswerLost,
    ArrivalUnknown,
    Duplicate,
    Failed,
    OtherHolders,
    ProtocolMissing,
    Settled,
    settle,
)

BATCH = Duplicate("TISS:3268")
GUIDE = Duplicate("TISS:1308", of="guide", guides=("GP-1",))
NOBODY = OtherHolders(all_known=True)
SOMEBODY = OtherHolders(("CLM-1-1 (ACCEPTED)",), all_known=True)
SOMEBODY_AT_LEAST = OtherHolders(("CLM-1-1 (ACCEPTED)",), all_known=False)


@pytest.mark.parametrize(
    ("result", "lost", "others", "expected"),
    [
        (BATCH, True, NOBODY, ProtocolMissing),
        (BATCH, True, SOMEBODY, ProtocolMissing),
        (BATCH, True, NOT_KNOWN, ProtocolMissing),
        (GUIDE, True, NOBODY, ProtocolMissing),
        (GUIDE, True, SOMEBODY, ArrivalUnknown),
        (GUIDE, True, SOMEBODY_AT_LEAST, ArrivalUnknown),
        (GUIDE, True, NOT_KNOWN, ArrivalUnknown),
        (BATCH, False, NOBODY, Failed),
        (GUIDE, False, NOBODY, Failed),
        (GUIDE, False, SOMEBODY, Failed),
        (GUIDE, False, NOT_KNOWN, Failed),
    ],
)
def test_a_known_batch_is_proof_of_arrival_and_a_known_guide_unless_another_claim_can_have_brought_it(
    result: Duplicate, lost: bool, others: OtherHolders, expected: type[Settled]
) -> None:
    assert isinstance(settle(result, answer_was_lost_before=lost, others=others), expected)


def test_a_duplicate_after_a_lost_answer_is_proof_of_arrival() -> None:
    assert settle(Duplicate("3268"), answer_was_lost_before=True) == ProtocolMissing()


def test_a_guide_is_no_proof_while_nobody_has_looked_for_its_other_holders() -> None:
    assert isinstance(settle(GUIDE, answer_was_lost_before=True), ArrivalUnknown)


def test_a_duplicate_out_of_nowhere_is_a_refusal_that_keeps_its_code() -> None:
    settled = settle(Duplicate("TISS:1308"), answer_was_lost_before=False)
    assert isinstance(settled, Failed)
    assert settled.error.startswith("DUPLICATE_CLAIM")
    assert settled.code == "TISS:1308"
    assert settled.refused


@pytest.mark.parametrize("lost", [True, False])
def test_code_and_guide_are_told(lost: bool) -> None:
    settled = settle(GUIDE, answer_was_lost_before=lost, others=SOMEBODY)
    assert isinstance(settled, Failed | ArrivalUnknown)
    assert settled.code == "TISS:1308"
    assert settled.error.startswith(
        "DUPLICATE_CLAIM - the payer has a guide of this batch already (TISS:1308, guide GP-1)"
    )
    assert ("CLM-1-1 (ACCEPTED)" in settled.error) is lost


def test_of_very_many_guides_and_holders_the_first_are_named() -> None:
    many = Duplicate("TISS:1308", of="guide", guides=tuple(f"GP-{n}" for n in range(100)))
    holders = OtherHolders(tuple(f"CLM-1-{n} (WAITING)" for n in range(100)), all_known=True)
    settled = settle(many, answer_was_lost_before=True, others=holders)
    assert isinstance(settled, ArrivalUnknown)
    assert "guide GP-4)" in settled.error
    assert settled.error.endswith("CLM-1-4 (WAITING) and 95 more")


@pytest.mark.parametrize("outcome", [Accepted("1"), Failed("TIMEOUT"), AnswerLost("TIMEOUT")])
@pytest.mark.parametrize("lost", [True, False])
def test_every_other_outcome_is_what_it_says(outcome: Answered, lost: bool) -> None:
    assert settle(outcome, answer_was_lost_before=lost) is outcome
