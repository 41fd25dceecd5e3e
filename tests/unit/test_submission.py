"""What a duplicate means depends on what happened before."""

import pytest

from domain.submission import (
    Accepted,
    AnswerLost,
    Duplicate,
    Failed,
    ProtocolMissing,
    SendResult,
    settle,
)


def test_a_duplicate_after_a_lost_answer_is_proof_of_arrival() -> None:
    assert settle(Duplicate("3268"), answer_was_lost_before=True) == ProtocolMissing()


def test_a_duplicate_out_of_nowhere_is_a_refusal_that_keeps_its_code() -> None:
    settled = settle(Duplicate("TISS:1308"), answer_was_lost_before=False)
    assert isinstance(settled, Failed)
    assert settled.error.startswith("DUPLICATE_CLAIM")
    assert settled.code == "TISS:1308"
    assert settled.refused


@pytest.mark.parametrize("outcome", [Accepted("1"), Failed("TIMEOUT"), AnswerLost("TIMEOUT")])
@pytest.mark.parametrize("lost", [True, False])
def test_every_other_outcome_is_what_it_says(outcome: SendResult, lost: bool) -> None:
    assert settle(outcome, answer_was_lost_before=lost) is outcome
