"""RN-BIL-004, point by point: rules, tables, use cases and test scenarios, with the rulings of the design."""

from datetime import timedelta

import pytest

from domain.backoff import base_wait, window
from domain.catalog import ErrorClassification
from domain.decision import Cause, Exhausted, Permanent, Retry
from domain.errors import InvalidInput
from domain.events import SubmissionRetryExhaustedEvent, SubmissionRetryScheduledEvent, events_of
from domain.outputs import audit_record, bpmn_error, output_variables
from tests.unit.domain.deciding import BIL_004, CLAIM, NOW, decided, given_up, retried

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
    "TEMPORARY_ERROR",
    "RATE_LIMIT",
    "SERVER_ERROR",
    "503",
    "504",
)


def test_bil_004_v1_the_fifth_retry_is_allowed_and_no_more() -> None:
    assert isinstance(decided("TIMEOUT", retryCount=4), Retry)
    for count in (5, 6, 1_000):
        exhausted = given_up("TIMEOUT", retryCount=count)
        assert isinstance(exhausted, Exhausted)
        assert bpmn_error(exhausted).code == "MAX_RETRIES_EXCEEDED"


def test_bil_004_v1_counts_before_it_classifies() -> None:
    assert isinstance(given_up("INVALID_PATIENT_DATA", retryCount=5), Exhausted)


@pytest.mark.parametrize("error", PERMANENT)
def test_bil_004_v2_a_permanent_error_is_not_retried(error: str) -> None:
    permanent = given_up(error)
    assert isinstance(permanent, Permanent)
    assert bpmn_error(permanent).code == "PERMANENT_ERROR"


@pytest.mark.parametrize("count", range(5))
def test_bil_004_v3_the_wait_is_between_5_and_240_minutes(count: int) -> None:
    waits = [retried("TIMEOUT", claimId=f"CLM-X-{n}", retryCount=count).wait for n in range(300)]
    assert timedelta(minutes=5) <= min(waits)
    assert max(waits) <= timedelta(minutes=240)


@pytest.mark.parametrize("count", range(5))
def test_bil_004_v4_the_jitter_is_at_most_20_percent_either_way(count: int) -> None:
    base = 5 * 2**count * 60
    for n in range(300):
        seconds = retried("TIMEOUT", claimId=f"CLM-X-{n}", retryCount=count).backoff.seconds
        assert abs(seconds - base) <= 0.2 * base


def test_bil_004_v5_a_negative_count_is_rejected() -> None:
    with pytest.raises(InvalidInput) as rejected:
        decided("TIMEOUT", retryCount=-1)
    assert rejected.value.rule == "BIL-004-V5"
    assert rejected.value.variable == "Variable retryCount"


@pytest.mark.parametrize("empty", ["", "   ", "\n\t", None])
def test_bil_004_v6_an_empty_error_is_rejected(empty: object) -> None:
    with pytest.raises(InvalidInput) as rejected:
        decided(empty)
    assert rejected.value.rule == "BIL-004-V6"


def test_bil_004_2_3_the_exceptions_carry_their_codes_and_what_people_need() -> None:
    exhausted = bpmn_error(given_up("SERVICE_UNAVAILABLE", retryCount=5))
    assert exhausted.message == "Maximum of 5 retries exceeded: SERVICE_UNAVAILABLE"
    assert exhausted.variables["retryCount"] == 5
    permanent = bpmn_error(given_up("INSURANCE_EXPIRED since May", retryCount=2))
    assert permanent.message == "Permanent error INSURANCE_EXPIRED, no retry: INSURANCE_EXPIRED"
    assert permanent.variables["retryCount"] == 2


def test_bil_004_3_1_count_and_time_may_be_missing_or_null() -> None:
    assert retried("TIMEOUT").retry_count == 1
    assert retried("TIMEOUT", retryCount=None, lastSubmissionTime=None).retry_count == 1


def test_bil_004_3_2_gives_exactly_the_five_outputs() -> None:
    outputs = output_variables(retried("TIMEOUT"), BIL_004.profile)
    assert list(outputs) == ["shouldRetry", "nextRetryTime", "retryCount", "retryReason", "backoffMinutes"]
    assert [type(value) for value in outputs.values()] == [bool, str, int, str, int]


@pytest.mark.parametrize(("count", "minutes"), [(0, 5), (1, 10), (2, 20), (3, 40), (4, 80)])
def test_bil_004_4_1_the_base_wait_doubles(count: int, minutes: int) -> None:
    assert base_wait(BIL_004.limits, count) == minutes * 60


def test_bil_004_4_2_the_example_lies_between_16_and_24_minutes() -> None:
    assert window(BIL_004.limits, 2) == (16 * 60, 24 * 60)


@pytest.mark.parametrize("error", TRANSIENT)
def test_bil_004_4_3_the_matrix_retries_what_is_transient(error: str) -> None:
    assert retried(f"x {error} y").classification is ErrorClassification.TRANSIENT


@pytest.mark.parametrize("error", PERMANENT)
def test_bil_004_4_3_the_matrix_stops_what_is_permanent(error: str) -> None:
    assert given_up(f"x {error} y").classification is ErrorClassification.PERMANENT


def test_bil_004_4_3_the_matrix_retries_what_it_does_not_know() -> None:
    assert retried("something else").classification is ErrorClassification.UNKNOWN


@pytest.mark.parametrize(
    ("count", "low", "high"), [(0, 5, 6), (1, 8, 12), (2, 16, 24), (3, 32, 48), (4, 64, 96)]
)
def test_bil_004_4_4_the_progression_with_20_percent(count: int, low: int, high: int) -> None:
    """The rule's own table shows 80 %; V4 says 20 %, and V4 stands."""
    assert window(BIL_004.limits, count) == (low * 60, high * 60)


def test_bil_004_4_4_all_five_waits_end_within_four_and_a_half_hours() -> None:
    assert sum(window(BIL_004.limits, count)[1] for count in range(5)) <= 4.5 * 3600


def test_bil_004_7_1_the_audit_trail_of_a_retry() -> None:
    record = audit_record(retried("SERVICE_UNAVAILABLE"), BIL_004.profile)
    assert record["timestamp"] == "2025-01-12T10:40:00Z"
    assert record["claimId"] == CLAIM
    assert record["errorMessage"] == "SERVICE_UNAVAILABLE"
    assert record["errorClassification"] == "TRANSIENT"
    assert record["shouldRetry"] is True
    assert record["retryCount"] == 1
    assert record["retryReason"] == "Retry 1 of 5"
    assert record["backoffMinutes"] in (5, 6)
    assert str(record["nextRetryTime"]).startswith("2025-01-12T10:4")


def test_bil_004_case_9_1_a_transient_error_is_scheduled() -> None:
    retry = retried("SERVICE_UNAVAILABLE", retryCount=0)
    assert retry.classification is ErrorClassification.TRANSIENT
    assert retry.retry_count == 1
    assert timedelta(minutes=5) <= retry.next_retry_time - NOW <= timedelta(minutes=6)


def test_bil_004_case_9_2_an_invalid_procedure_is_stopped() -> None:
    outputs = output_variables(given_up("INVALID_PROCEDURE_CODE"), BIL_004.profile)
    assert outputs["shouldRetry"] is False
    assert outputs["nextRetryTime"] is None


def test_bil_004_case_9_3_five_failures_are_waited_for_and_the_sixth_ends_it() -> None:
    now = NOW
    for count in range(5):
        retry = retried("SERVICE_UNAVAILABLE", retryCount=count, now=now)
        now = retry.next_retry_time
    assert isinstance(given_up("SERVICE_UNAVAILABLE", retryCount=5), Exhausted)
    assert timedelta(minutes=125) <= now - NOW <= timedelta(minutes=186)


def test_bil_004_11_2_the_reason_is_worded_as_in_the_rule() -> None:
    reasons = [retried("TIMEOUT", retryCount=count).reason for count in range(5)]
    assert reasons == [f"Retry {number} of 5" for number in (1, 2, 3, 4, 5)]


def test_bil_004_12_3_the_scheduled_event_has_every_field() -> None:
    retry = retried("TIMEOUT")
    assert events_of(retry, BIL_004.profile) == (
        SubmissionRetryScheduledEvent(
            claim_id=retry.claim_id,
            retry_count=1,
            error_classification=ErrorClassification.TRANSIENT,
            next_retry_time=retry.next_retry_time,
            backoff_minutes=retry.backoff_minutes,
            timestamp=NOW,
        ),
    )


def test_bil_004_12_3_the_exhausted_event_has_every_field() -> None:
    exhausted = given_up("TIMEOUT", retryCount=5)
    event = SubmissionRetryExhaustedEvent(exhausted.claim_id, 5, "TIMEOUT", NOW, Cause.RETRIES)
    assert events_of(exhausted, BIL_004.profile) == (event,)


def test_bil_004_scenario_1_transient() -> None:
    assert isinstance(decided("SERVICE_UNAVAILABLE"), Retry)


def test_bil_004_scenario_2_permanent() -> None:
    assert isinstance(decided("INVALID_PROCEDURE_CODE"), Permanent)


def test_bil_004_scenario_3_unknown_is_retried_with_a_warning() -> None:
    retry = retried("the payer sneezed")
    assert retry.warning == "UNKNOWN_ERROR"
    assert retried("TIMEOUT").warning is None


def test_bil_004_scenario_4_waits_grow() -> None:
    waits = [retried("TIMEOUT", retryCount=count).wait for count in range(5)]
    assert waits == sorted(set(waits))


def test_bil_004_scenario_5_jitter_reaches_both_sides_of_the_base() -> None:
    waits = [retried("TIMEOUT", claimId=f"CLM-X-{n}", retryCount=2).backoff.seconds for n in range(500)]
    assert min(waits) < 17 * 60
    assert max(waits) > 23 * 60


def test_bil_004_scenario_6_five_retries_at_most() -> None:
    assert [isinstance(decided("TIMEOUT", retryCount=count), Retry) for count in range(7)] == [
        True, True, True, True, True, False, False,
    ]  # fmt: skip


def test_bil_004_scenario_7_the_cap_is_240_minutes() -> None:
    assert base_wait(BIL_004.limits, 6) == 240 * 60
    assert window(BIL_004.limits, 6) == (192 * 60, 240 * 60)
    assert window(BIL_004.limits, 40) == (192 * 60, 240 * 60)


def test_bil_004_scenario_8_the_floor_is_5_minutes() -> None:
    assert window(BIL_004.limits, 0)[0] == 5 * 60
