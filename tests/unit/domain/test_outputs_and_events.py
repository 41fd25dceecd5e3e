"""What leaves the domain: process variables, BPMN errors, events; all plain, all redacted."""

import json
from datetime import timedelta, timezone

import pytest

from domain.errors import InvalidPolicy
from domain.events import PastFailures, events_of, payload
from domain.outputs import BpmnError, bpmn_error, error_variables, iso_time, output_variables
from tests.unit.domain.deciding import BIL_004, BIL_005, CLAIM, NOW, given_up, retried

LEAKY = "INVALID_PATIENT_DATA - CPF 529.982.247-25, nome=Maria da Silva"
SAFE = "INVALID_PATIENT_DATA"


def test_a_returned_refusal_says_why_and_names_the_code() -> None:
    assert output_variables(given_up("DUPLICATE_CLAIM", retryCount=2), BIL_004.profile) == {
        "shouldRetry": False,
        "nextRetryTime": None,
        "retryCount": 2,
        "retryReason": "Permanent error DUPLICATE_CLAIM, no retry",
        "backoffMinutes": 0,
        "errorCode": "PERMANENT_ERROR",
        "responsibleTeam": "BILLING_MANAGEMENT",
    }


def test_a_returned_refusal_of_the_analysis_has_the_classification_too() -> None:
    outputs = output_variables(given_up(LEAKY, BIL_005, retryCount=5), BIL_005.profile)
    assert outputs["errorCode"] == "MAX_RETRIES_EXCEEDED"
    assert outputs["errorClassification"] == "PERMANENT"
    assert outputs["originalError"] == SAFE
    assert outputs["maxRetries"] == 5


def test_a_bpmn_error_has_code_message_and_variables_without_personal_data() -> None:
    assert bpmn_error(given_up(LEAKY)) == BpmnError(
        "PERMANENT_ERROR",
        f"Permanent error INVALID_PATIENT_DATA, no retry: {SAFE}",
        {
            "shouldRetry": False,
            "errorClassification": "PERMANENT",
            "errorCategory": "INVALID_PATIENT_DATA",
            "responsibleTeam": "REGISTRATION",
            "retryReason": "Permanent error INVALID_PATIENT_DATA, no retry",
            "retryCount": 0,
            "maxRetries": 5,
            "submissionError": SAFE,
            "policyVersion": BIL_004.label,
        },
    )


def test_everything_is_ready_for_json() -> None:
    retry, refusal = retried("x", BIL_005), given_up(LEAKY)
    json.dumps([output_variables(retry, BIL_005.profile), error_variables(refusal)])
    json.dumps([payload(event) for event in events_of(retry, BIL_005.profile)])


def test_times_are_written_in_utc_with_whole_seconds() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=-3))).replace(microsecond=999_999)
    assert iso_time(there) == "2025-01-12T10:40:00Z"


def test_an_event_is_written_under_the_rules_names() -> None:
    (event,) = events_of(retried("TIMEOUT", BIL_005, retryCount=1), BIL_005.profile)
    assert payload(event) == {
        "claimId": CLAIM,
        "retryCount": 2,
        "maxRetries": 5,
        "backoffMinutes": 9,
        "nextRetryTime": "2025-01-12T10:49:15.000Z",
        "errorClassification": "TRANSIENT",
        "scheduledAt": "2025-01-12T10:40:00.000Z",
        "version": 1,
    }


def test_a_duration_is_written_in_seconds_and_an_unknown_one_as_null() -> None:
    exhausted = given_up(LEAKY, BIL_005, retryCount=5)
    past = PastFailures(first_failure=NOW - timedelta(hours=2))
    (known,) = events_of(exhausted, BIL_005.profile, past)
    assert payload(known) == {
        "claimId": CLAIM,
        "finalError": SAFE,
        "totalAttempts": 6,
        "totalDuration": 7_200,
        "exceededAt": "2025-01-12T10:40:00.000Z",
        "cause": "RETRIES",
        "severity": "CRITICAL",
    }
    (unknown,) = events_of(exhausted, BIL_005.profile)
    assert payload(unknown)["totalDuration"] is None


def test_an_event_of_either_rule_has_no_personal_data() -> None:
    for policy in (BIL_004, BIL_005):
        for count in (0, 5):
            (event,) = events_of(given_up(LEAKY, policy, retryCount=count), policy.profile)
            assert SAFE in payload(event).values()


def test_an_unknown_profile_is_refused_by_name() -> None:
    with pytest.raises(InvalidPolicy, match='no profile "X": choose one of RN-BIL-004, RN-BIL-005'):
        BIL_004.under("X")
    assert BIL_004.under("RN-BIL-004") is BIL_004
