"""What each result of a send or a question changes for the payer."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from domain.breaker import Breaker
from domain.payer_answers import Result
from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.submission import Accepted, AccessDenied, AnswerLost, Duplicate, Failed, ProtocolMissing

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)
LIMITS = PayerLimits()
LONG = timedelta(seconds=90)
ANSWERS: list[Result] = [
    Accepted("1"),
    Duplicate("TISS:3268"),
    ProtocolMissing(),
    Failed("x", "TISS:1001"),
]
OUTAGES: list[Result] = [
    Failed("x", "NET:DNS", payer_down=True),
    AnswerLost("x", "HTTP:503", payer_down=True),
]
SILENT: list[Result] = [Failed("x", "FAULT:SchemaInvalido"), Failed("x")]
BUSY = Failed("x", "HTTP:429")
BUSY_FOR_LONG = Failed("x", "HTTP:429", LONG)
UNCLEAR = AnswerLost("x", "HTTP:500")
DENIED = AccessDenied("x")
NEW = PayerStatus("p", NOW)
NEARLY_OPEN = PayerStatus("p", NOW, failures=4, openings=1)
OPEN = PayerStatus("p", NOW, PayerState.OPEN, "503", failures=5, next_try_at=NOW + timedelta(minutes=5))
TRYING = replace(OPEN, state=PayerState.HALF_OPEN)


def breaker(status: PayerStatus) -> Breaker:
    return Breaker(status, LIMITS, NOW)


@pytest.mark.parametrize("result", ANSWERS)
def test_what_the_payers_own_system_has_processed_proves_that_it_takes_claims(result: Result) -> None:
    after = breaker(NEARLY_OPEN).after_send(result)
    assert after == replace(NEARLY_OPEN, failures=0, openings=0, proven=True)
    assert breaker(breaker(TRYING).after_send(result)).is_free


@pytest.mark.parametrize("result", OUTAGES)
def test_what_speaks_of_an_outage_opens_it_at_the_number_for_outages(result: Result) -> None:
    after = breaker(NEARLY_OPEN).after_send(result)
    assert (after.state, after.failures, after.reason) == (PayerState.OPEN, 5, "x")
    assert breaker(TRYING).after_send(result).state is PayerState.OPEN


@pytest.mark.parametrize("result", SILENT)
def test_what_says_nothing_about_the_payer_changes_nothing(result: Result) -> None:
    for status in (NEARLY_OPEN, TRYING):
        assert breaker(status).after_send(result) == status


def test_what_is_only_busy_moves_nothing_but_the_next_send() -> None:
    for status in (NEARLY_OPEN, TRYING):
        assert breaker(status).after_send(BUSY_FOR_LONG) == replace(status, not_before=NOW + LONG)
        assert breaker(status).after_send(BUSY) == replace(status, not_before=NOW + LIMITS.busy_wait)


def test_an_unclear_answer_counts_as_one_failure_and_refused_credentials_stop() -> None:
    assert breaker(NEARLY_OPEN).after_send(UNCLEAR) == replace(NEARLY_OPEN, failures=5)
    assert breaker(NEARLY_OPEN).after_send(DENIED).state is PayerState.STOPPED


def test_a_claim_whose_answer_was_unclear_before_says_no_more_about_the_payer() -> None:
    assert breaker(NEARLY_OPEN).after_send(UNCLEAR, again=True) == NEARLY_OPEN
    assert breaker(TRYING).after_send(UNCLEAR, again=True).state is PayerState.OPEN
    for result in [*OUTAGES, *ANSWERS]:
        assert breaker(NEARLY_OPEN).after_send(result, again=True) == breaker(NEARLY_OPEN).after_send(result)


@pytest.mark.parametrize("status", [NEARLY_OPEN, TRYING, OPEN])
def test_a_question_that_is_answered_proves_nothing_and_trouble_counts_as_after_a_send(
    status: PayerStatus,
) -> None:
    for answer in ANSWERS:
        assert breaker(status).after_question(answer) == status
    for trouble in [*OUTAGES, *SILENT, BUSY, BUSY_FOR_LONG, UNCLEAR, DENIED]:
        assert breaker(status).after_question(trouble) == breaker(status).after_send(trouble)


def test_the_reason_names_no_person_whose_answer_it_was() -> None:
    said = "ask about CPF 123.456.789-09"
    results: list[Result] = [AccessDenied(said), Failed(said, payer_down=True), AnswerLost(said)]
    reasons = [breaker(TRYING).after_send(result).reason for result in results]
    assert all(reason.startswith("ask about") and "123.456.789-09" not in reason for reason in reasons)
