"""What was done, as lines of the log: the documents' names, fields, levels and words; nobody is disturbed."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from domain.claim import ClaimId
from domain.decision import Decision, RetryRequest, decide
from domain.observations import (
    ClaimSent,
    DecisionMade,
    InputRejected,
    MailAttempted,
    MailFate,
    Observation,
    OperationRepeated,
    PayerMoved,
)
from domain.payer_status import PayerState, PayerStatus
from domain.submission import Accepted, Failed, ProtocolMissing, Settled
from tests.support.builders import NOW
from workers.app.observation_logs import log_observation
from workers.app.observers import all_of
from workers.policy import load_policy

MAIL = MailAttempted("o-1", "company-1", "7", 3, 5, MailFate.WAITS, 0.1, "421", "service not available")


def lines(observation: Observation) -> list[dict[str, Any]]:
    with capture_logs() as logs:
        log_observation(observation)
    return [dict(line) for line in logs]


def decided(profile: str, error: str, count: int = 0, deadline: datetime | None = None) -> DecisionMade:
    policy = load_policy().under(profile)
    request = RetryRequest(ClaimId("CLM-001-1"), error, retry_count=count, deadline=deadline)
    decision: Decision = decide(request, policy, NOW)
    return DecisionMade(decision, profile, policy.profile.shape, "p", 1, 2, 0.0123)


def test_a_retry_under_rn_bil_004_is_its_line_with_its_fields() -> None:
    [line] = lines(decided("RN-BIL-004", "SERVICE_UNAVAILABLE - later"))
    assert line.pop("nextRetryTime") > "2"
    assert 5 <= line.pop("backoffMinutes") <= 6
    assert line == {
        "event": "submission_retry_scheduled",
        "log_level": "info",
        "claimId": "CLM-001-1",
        "submissionError": "SERVICE_UNAVAILABLE",
        "retryCount": 1,
        "errorClassification": "TRANSIENT",
    }


def test_a_retry_under_rn_bil_005_says_also_how_many_there_may_be_and_how_long_it_took() -> None:
    [line] = lines(decided("RN-BIL-005", "TIMEOUT", 1))
    assert (line["event"], line["log_level"]) == ("retry_scheduled", "info")
    assert (line["maxRetries"], line["executionTimeMs"], line["retryCount"]) == (5, 12, 2)


@pytest.mark.parametrize(
    ("rule", "event"),
    [("RN-BIL-004", "submission_retry_scheduled"), ("RN-BIL-005", "retry_scheduled")],
)
def test_a_profile_of_ones_own_writes_the_line_of_the_rule_that_it_follows(rule: str, event: str) -> None:
    [line] = lines(replace(decided(rule, "TIMEOUT"), profile="OWN"))
    assert line["event"] == event


@pytest.mark.parametrize("profile", ["RN-BIL-004", "RN-BIL-005"])
def test_an_unknown_error_is_warned_of_before_its_retry(profile: str) -> None:
    warned, scheduled = lines(decided(profile, "Maria da Silva is not at home"))
    assert (warned["event"], warned["log_level"]) == ("unknown_error_retried", "warning")
    assert warned["message"] == "Tipo de erro desconhecido, tentando retry"
    assert scheduled["event"].endswith("retry_scheduled")
    assert "Maria" not in str((warned, scheduled))


def test_an_empty_error_is_warned_of_in_its_own_words() -> None:
    warned, _ = lines(decided("RN-BIL-005", ""))
    assert warned["event"] == "error_message_empty"
    assert warned["message"] == "Mensagem de erro vazia ou inválida"


@pytest.mark.parametrize("profile", ["RN-BIL-004", "RN-BIL-005"])
@pytest.mark.parametrize("error", ["TIMEOUT", "nobody knows this", "INVALID_PROCEDURE_CODE"])
def test_spent_retries_are_one_error_whatever_the_last_error_was(profile: str, error: str) -> None:
    [line] = lines(decided(profile, error, 5))
    assert (line["event"], line["log_level"]) == ("max_retries_exceeded", "error")
    assert line["message"] == "Máximo de tentativas excedido"
    assert (line["retryCount"], line["maxRetries"]) == (5, 5)
    assert line["responsibleTeam"] == "BILLING_MANAGEMENT"


def test_a_deadline_is_told_apart_from_spent_retries() -> None:
    [line] = lines(decided("RN-BIL-004", "TIMEOUT", deadline=NOW + timedelta(minutes=1)))
    assert (line["event"], line["log_level"]) == ("deadline_exceeded", "error")


def test_a_permanent_error_names_the_team_that_corrects_it() -> None:
    [line] = lines(decided("RN-BIL-004", "INVALID_PATIENT_DATA: Maria"))
    assert (line["event"], line["log_level"]) == ("permanent_error", "warning")
    assert line["responsibleTeam"] == "REGISTRATION"
    assert "Maria" not in str(line)


SENT: list[tuple[Settled, tuple[str, str | None]]] = [
    (Accepted("P-1"), ("ACCEPTED", None)),
    (ProtocolMissing(), ("PROTOCOL_MISSING", None)),
    (Failed("words of others", "HTTP:503"), ("FAILED", "HTTP:503")),
]


@pytest.mark.parametrize(("settled", "told"), SENT)
def test_a_send_is_told_by_its_result_and_code(settled: Settled, told: tuple[str, str | None]) -> None:
    [line] = lines(ClaimSent("CLM-001-1", "p", 2, settled, 0.12345, 1, 2))
    assert (line["result"], line["code"]) == told
    assert (line["event"], line["log_level"], line["seconds"]) == ("claim_sent", "info", 0.123)
    assert "words" not in str(line)


def test_rejections_repetitions_and_payers_states_are_told() -> None:
    [rejected] = lines(InputRejected("RN-BIL-004", "BIL-004-V1", None, 1, 2))
    assert (rejected["event"], rejected["log_level"], rejected["rule"]) == (
        "input_rejected", "warning", "BIL-004-V1"
    )  # fmt: skip
    [repeated] = lines(OperationRepeated("submit_claim"))
    assert (repeated["event"], repeated["log_level"]) == ("operation_repeated", "debug")
    before = PayerStatus("p", NOW)
    [moved] = lines(PayerMoved(before, replace(before, state=PayerState.OPEN, reason="HTTP:503")))
    assert (moved["event"], moved["before"], moved["state"]) == ("payer_state_changed", "CLOSED", "OPEN")


def test_a_mail_that_waits_is_the_documents_line() -> None:
    [line] = lines(replace(MAIL, wait=timedelta(milliseconds=4234)))
    assert line == {
        "event": "mail_retry_scheduled",
        "log_level": "warning",
        "message": "Job failed, scheduling retry",
        "jobId": "o-1",
        "companyId": "company-1",
        "attempt": 3,
        "maxAttempts": 5,
        "errorCode": "421",
        "errorReason": "service not available",
        "nextRetryDelay": 4234,
        "isRetryable": True,
    }


def test_a_mail_that_died_is_not_retryable_and_one_without_room_is_an_alarm() -> None:
    [died] = lines(replace(MAIL, fate=MailFate.DIED, cause="ATTEMPTS"))
    assert (died["event"], died["isRetryable"], died["cause"]) == ("mail_dead_lettered", False, "ATTEMPTS")
    _, alarm = lines(replace(MAIL, fate=MailFate.DIED, is_buried=False))
    assert (alarm["event"], alarm["log_level"]) == ("dead_letters_full", "error")
    [sent] = lines(replace(MAIL, fate=MailFate.SENT))
    assert (sent["event"], sent["log_level"], sent["companyId"]) == ("mail_sent", "info", "company-1")


@pytest.mark.parametrize("fate", MailFate)
def test_every_line_of_a_mail_about_a_claim_names_the_claim(fate: MailFate) -> None:
    about = replace(MAIL, fate=fate, is_buried=False, claim_id="CLM-001-1")
    assert {line["claim"] for line in lines(about)} == {"CLM-001-1"}
    assert all("claim" not in line for line in lines(replace(about, claim_id=None)))


def test_an_observer_that_breaks_disturbs_neither_the_work_nor_the_others() -> None:
    seen: list[Observation] = []

    def broken(_observation: Observation) -> None:
        raise ValueError("Maria")

    told = OperationRepeated("submit_claim")
    with capture_logs() as logs:
        all_of(broken, seen.append)(told)
    assert seen == [told]
    assert [(line["event"], line["error"]) for line in logs] == [("observer_failed", "ValueError")]
    assert "Maria" not in str(logs)
