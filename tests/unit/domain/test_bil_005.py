"""RN-BIL-005, point by point: rules, tables, use cases and test scenarios, with the rulings of the design."""

from dataclasses import replace
from datetime import timedelta

import pytest

from domain.backoff import base_wait, window
from domain.catalog import ErrorClassification
from domain.decision import Cause, Exhausted, Permanent, Retry
from domain.errors import InvalidInput
from domain.events import (
    MaxRetriesExceededEvent,
    PastFailures,
    PermanentErrorDetectedEvent,
    RetryScheduledEvent,
    Severity,
    events_of,
)
from domain.outputs import audit_record, bpmn_error, output_variables
from domain.policy import EmptyError
from tests.unit.domain.deciding import BIL_005, CLAIM, NOW, decided, given_up, retried

PERMANENT = (
    "INVALID_PATIENT_DATA",
    "INSURANCE_EXPIRED",
    "AUTHORIZATION_DENIED",
    "DUPLICATE_CLAIM",
    "INVALID_PROCEDURE_CODE",
)
TRANSIENT = (
    "TIMEOUT",
    "CONNECTION_ERROR",
    "SERVICE_UNAVAILABLE",
    "NETWORK_ERROR",
    "RATE_LIMIT",
    "SERVER_ERROR",
    "503",
    "504",
)


def test_bil_005_v1_five_retries_at_most() -> None:
    assert isinstance(decided("TIMEOUT", BIL_005, retryCount=4), Retry)
    exhausted = given_up("TIMEOUT", BIL_005, retryCount=5)
    assert bpmn_error(exhausted).code == "MAX_RETRIES_EXCEEDED"


@pytest.mark.parametrize("error", PERMANENT)
def test_bil_005_v2_a_permanent_error_is_not_retried(error: str) -> None:
    assert bpmn_error(given_up(error, BIL_005)).code == "PERMANENT_ERROR"


@pytest.mark.parametrize("count", range(5))
def test_bil_005_v3_the_wait_stays_inside_its_limits(count: int) -> None:
    retry = retried("TIMEOUT", BIL_005, retryCount=count)
    assert 5 <= retry.backoff_minutes <= 240


def test_bil_005_v4_an_empty_error_is_rejected_when_the_profile_says_so() -> None:
    strict = replace(BIL_005, profile=replace(BIL_005.profile, empty_error=EmptyError.REJECT))
    with pytest.raises(InvalidInput) as rejected:
        decided("", strict)
    assert rejected.value.rule == "BIL-005-V4"


@pytest.mark.parametrize("count", range(5))
def test_bil_005_v5_the_next_attempt_is_in_the_future(count: int) -> None:
    now = NOW.replace(microsecond=999_999)
    assert retried("TIMEOUT", BIL_005, now=now, retryCount=count).next_retry_time > now


@pytest.mark.parametrize("claim", ["CLM-001-1", "CLM-ENC-001-1234567890", "CLM-a_b-7"])
def test_bil_005_3_1_a_claim_id_has_the_format(claim: str) -> None:
    assert str(retried("TIMEOUT", BIL_005, claimId=claim).claim_id) == claim


@pytest.mark.parametrize("claim", ["", "CLM-1", "clm-001-1", "CLM-001-", "CLM-001-1x", "XCLM-001-1", None, 5])
def test_bil_005_3_1_another_claim_id_is_rejected(claim: object) -> None:
    with pytest.raises(InvalidInput) as rejected:
        decided("TIMEOUT", BIL_005, claimId=claim)
    assert rejected.value.rule == "BIL-005 3.1"


def test_bil_005_3_2_the_structure_of_the_answer() -> None:
    outputs = output_variables(
        retried("TIMEOUT - Connection timeout after 30s", BIL_005, retryCount=1), BIL_005.profile
    )
    assert outputs == {
        "shouldRetry": True,
        "retryCount": 2,
        "maxRetries": 5,
        "backoffMinutes": 9,
        "nextRetryTime": "2025-01-12T10:49:15Z",
        "retryReason": "Transient error, retry 2 of 5",
        "errorClassification": "TRANSIENT",
        "originalError": "TIMEOUT",
    }


@pytest.mark.parametrize(("number", "minutes", "spread"), [(2, 10, 2), (3, 20, 4), (4, 40, 8), (5, 80, 16)])
def test_bil_005_4_1_the_table_of_waits(number: int, minutes: int, spread: int) -> None:
    low, high = window(BIL_005.limits, number - 1)
    assert (low, high) == ((minutes - spread) * 60, (minutes + spread) * 60)


def test_bil_005_4_1_the_first_row_keeps_the_floor() -> None:
    assert window(BIL_005.limits, 0) == (5 * 60, 6 * 60)


@pytest.mark.parametrize(("count", "minutes"), [(5, 160), (6, 240), (7, 240)])
def test_bil_005_4_1_from_the_sixth_row_on_the_cap_holds(count: int, minutes: int) -> None:
    assert base_wait(BIL_005.limits, count) == minutes * 60


@pytest.mark.parametrize("error", PERMANENT)
def test_bil_005_4_2_permanent_in_any_case(error: str) -> None:
    assert given_up(f"x {error.lower()} y", BIL_005).classification is ErrorClassification.PERMANENT


@pytest.mark.parametrize("error", TRANSIENT)
def test_bil_005_4_2_transient_in_any_case(error: str) -> None:
    assert retried(f"x {error.lower()} y", BIL_005).classification is ErrorClassification.TRANSIENT


def test_bil_005_4_2_unknown_is_called_unknown_transient() -> None:
    assert retried("hm", BIL_005).classification is ErrorClassification.UNKNOWN_TRANSIENT


def test_bil_005_7_1_the_audit_trail_has_every_field() -> None:
    entry = audit_record(retried("TIMEOUT - Connection timeout", BIL_005, retryCount=1), BIL_005.profile)
    assert entry == {
        "timestamp": "2025-01-12T10:40:00Z",
        "claimId": CLAIM,
        "submissionError": "TIMEOUT",
        "errorClassification": "TRANSIENT",
        "matchedEntry": "TIMEOUT",
        "retryCount": 2,
        "maxRetries": 5,
        "backoffMinutes": 9,
        "nextRetryTime": "2025-01-12T10:49:15Z",
        "shouldRetry": True,
        "retryReason": "Transient error, retry 2 of 5",
        "policyVersion": BIL_005.label,
    }


def test_bil_005_7_1_the_audit_trail_of_a_refusal() -> None:
    entry = audit_record(given_up("DUPLICATE_CLAIM", BIL_005), BIL_005.profile)
    assert entry["shouldRetry"] is False
    assert entry["nextRetryTime"] is None
    assert entry["backoffMinutes"] == 0


@pytest.mark.parametrize("empty", ["", "  ", None])
def test_bil_005_8_1_an_invalid_message_is_a_warning_and_assumed_transient(empty: object) -> None:
    retry = retried(empty, BIL_005)
    assert retry.classification is ErrorClassification.TRANSIENT
    assert retry.warning == "INVALID_ERROR_MESSAGE"


def test_bil_005_8_1_an_empty_message_with_a_code_is_no_invalid_message() -> None:
    assert isinstance(decided("", BIL_005, submissionErrorCode="TISS:1001"), Permanent)


def test_bil_005_8_1_what_is_no_text_is_still_rejected() -> None:
    with pytest.raises(InvalidInput) as rejected:
        decided({"code": 1}, BIL_005)
    assert rejected.value.value == "a dict"


def test_bil_005_case_9_1_a_timeout_is_scheduled() -> None:
    retry = retried("TIMEOUT - Connection timeout after 30s", BIL_005, retryCount=1)
    assert retry.retry_count == 2
    assert timedelta(minutes=8) <= retry.next_retry_time - NOW <= timedelta(minutes=12)
    assert abs(retry.wait - timedelta(minutes=retry.backoff_minutes)) <= timedelta(seconds=30)


def test_bil_005_case_9_2_after_five_retries_it_is_over() -> None:
    """The use case writes 4 >= 5; a slip: with a count of 4 the fifth retry is still due."""
    assert isinstance(decided("TIMEOUT", BIL_005, retryCount=4), Retry)
    assert isinstance(decided("TIMEOUT", BIL_005, retryCount=5), Exhausted)


def test_bil_005_case_9_3_invalid_patient_data_is_stopped_at_once() -> None:
    permanent = given_up("INVALID_PATIENT_DATA - CPF inválido", BIL_005, retryCount=0)
    assert isinstance(permanent, Permanent)
    assert permanent.last_error == "INVALID_PATIENT_DATA"


def test_bil_005_12_3_the_scheduled_event_has_every_field() -> None:
    retry = retried("TIMEOUT", BIL_005)
    assert events_of(retry, BIL_005.profile, PastFailures(version=7)) == (
        RetryScheduledEvent(
            claim_id=retry.claim_id,
            retry_count=1,
            max_retries=5,
            backoff_minutes=retry.backoff_minutes,
            next_retry_time=retry.next_retry_time,
            error_classification=ErrorClassification.TRANSIENT,
            scheduled_at=NOW,
            version=7,
        ),
    )


def test_bil_005_12_3_the_exceeded_event_has_every_field() -> None:
    exhausted = given_up("TIMEOUT", BIL_005, retryCount=5)
    event = MaxRetriesExceededEvent(
        exhausted.claim_id, "TIMEOUT", 6, timedelta(hours=3), NOW, Cause.RETRIES, severity=Severity.CRITICAL
    )
    past = PastFailures(first_failure=NOW - timedelta(hours=3))
    assert events_of(exhausted, BIL_005.profile, past) == (event,)


def test_bil_005_12_3_the_permanent_event_has_every_field() -> None:
    permanent = given_up("INSURANCE_EXPIRED", BIL_005)
    event = PermanentErrorDetectedEvent(
        permanent.claim_id, "INSURANCE_EXPIRED", "INSURANCE_EXPIRED", NOW, severity=Severity.CRITICAL
    )
    assert events_of(permanent, BIL_005.profile) == (event,)


def test_bil_005_scenario_1_transient_is_scheduled() -> None:
    assert output_variables(retried("TIMEOUT", BIL_005), BIL_005.profile)["shouldRetry"] is True


def test_bil_005_scenario_2_maximum_exceeded() -> None:
    assert given_up("TIMEOUT", BIL_005, retryCount=5).reason == "Maximum of 5 retries exceeded"


def test_bil_005_scenario_3_permanent_detected() -> None:
    assert given_up("DUPLICATE_CLAIM", BIL_005).reason == "Permanent error DUPLICATE_CLAIM, no retry"


def test_bil_005_scenario_4_exponential() -> None:
    assert [base_wait(BIL_005.limits, count) // 60 for count in range(5)] == [5, 10, 20, 40, 80]


def test_bil_005_scenario_5_jitter_differs_between_claims() -> None:
    times = {retried("TIMEOUT", BIL_005, claimId=f"CLM-X-{n}").next_retry_time for n in range(100)}
    assert len(times) > 40


def test_bil_005_scenario_6_known_errors_name_their_entry() -> None:
    assert retried("Rate_Limit hit", BIL_005).finding.matched == "RATE_LIMIT"


def test_bil_005_scenario_7_unknown_errors_are_retried() -> None:
    assert retried("???", BIL_005).warning == "UNKNOWN_ERROR"
