"""A deadline: waits fit before it with time for a person, or a person gets the claim early."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.backoff import RetryLimits, window
from domain.claim import ClaimId
from domain.decision import Cause, Exhausted, Permanent, Retry, RetryRequest, decide
from domain.errors import InvalidInput, InvalidPolicy
from domain.outputs import bpmn_error, error_variables, iso_time, output_variables
from domain.policy import Policy
from tests.unit.domain.deciding import BIL_004, BIL_005, CLAIM, NOW, decided, given_up, retried

POLICIES = st.sampled_from([BIL_004, BIL_005])
COUNTS = st.integers(0, 6)
NUMBERS = st.integers(1, 10**12).map(lambda number: ClaimId(f"CLM-001-{number}"))
MOMENTS = st.timedeltas(timedelta(), timedelta(days=1)).map(lambda after: NOW + after)
AHEAD = st.timedeltas(-timedelta(days=1), timedelta(days=3))
RESERVES = st.integers(0, 48 * 3600)
HERD = [ClaimId(f"CLM-001-{number}") for number in range(1_000)]


def waits_of_the_herd(count: int, *, room: timedelta) -> list[int]:
    """How many seconds each of 1,000 claims waits that failed at once and share a deadline."""
    deadline = NOW + room + timedelta(minutes=240)
    asked = [RetryRequest(claim, "TIMEOUT", retry_count=count, deadline=deadline) for claim in HERD]
    decisions = [decide(request, BIL_004, NOW) for request in asked]
    return [decision.backoff.seconds for decision in decisions if isinstance(decision, Retry)]


@given(POLICIES, NUMBERS, COUNTS, MOMENTS, AHEAD, RESERVES)
def test_no_retry_comes_after_the_reserve_begins_nor_before_the_shortest_wait(
    policy: Policy, claim: ClaimId, count: int, now: datetime, ahead: timedelta, reserve: int
) -> None:
    under = replace(policy, limits=RetryLimits(reserve_seconds=reserve))
    request = RetryRequest(claim, "TIMEOUT", retry_count=count, deadline=now + ahead)
    decision = decide(request, under, now)
    free = decide(replace(request, deadline=None), under, now)
    if isinstance(decision, Retry):
        assert isinstance(free, Retry)
        assert decision.next_retry_time <= min(now + ahead - timedelta(seconds=reserve), free.next_retry_time)
        assert decision.next_retry_time - now >= timedelta(minutes=5)
        assert decision.next_retry_time.microsecond == 0
    elif count < 5:
        assert isinstance(decision, Exhausted)
        assert decision.cause is Cause.DEADLINE
        assert ahead < timedelta(minutes=5, seconds=reserve + 2)


@given(POLICIES, NUMBERS, st.text(max_size=60), COUNTS, MOMENTS)
def test_a_deadline_far_away_changes_nothing_but_that_it_is_kept(
    policy: Policy, claim: ClaimId, error: str, count: int, now: datetime
) -> None:
    request = RetryRequest(claim, error, retry_count=count)
    far = now + timedelta(days=30)
    without = decide(request, policy, now)
    assert without.deadline is None
    assert decide(replace(request, deadline=far), policy, now) == replace(without, deadline=far)


@given(st.datetimes(timezones=st.just(UTC)) | AHEAD.map(lambda ahead: NOW + ahead), COUNTS)
def test_no_deadline_on_the_calendar_breaks_the_decision(deadline: datetime, count: int) -> None:
    decision = decide(
        RetryRequest(ClaimId(CLAIM), "TIMEOUT", retry_count=count, deadline=deadline), BIL_004, NOW
    )
    if count >= 5:
        assert isinstance(decision, Exhausted)
        assert decision.cause is Cause.RETRIES
    elif deadline - NOW < timedelta(minutes=245):
        assert isinstance(decision, Exhausted)
        assert decision.cause is Cause.DEADLINE
    else:
        assert isinstance(decision, Retry)
        assert decision.next_retry_time <= deadline - timedelta(minutes=240)


@pytest.mark.parametrize("minutes", [15, 30, 60])
def test_a_thousand_claims_with_one_deadline_are_spread_evenly_over_the_room_there_is(minutes: int) -> None:
    waits = waits_of_the_herd(4, room=timedelta(minutes=minutes))
    room = minutes * 60 - 300
    assert len(waits) == len(HERD)
    assert len(set(waits)) > min(room, len(HERD)) / 2
    assert max(Counter(waits).values()) <= 12
    tenths = Counter((wait - 300) * 10 // room for wait in waits)
    assert set(tenths) == set(range(10))
    assert all(70 <= number <= 130 for number in tenths.values())


@pytest.mark.parametrize("cut", [1, 60, 600, 1_200, 1_860, 1_919])
def test_a_deadline_inside_the_window_keeps_what_fits_and_gathers_nobody_at_its_edge(cut: int) -> None:
    _, high = window(BIL_004.limits, 4)
    waits = waits_of_the_herd(4, room=timedelta(seconds=high - cut))
    free = [retried("TIMEOUT", claimId=claim.value, retryCount=4).backoff.seconds for claim in HERD]
    for wait, without in zip(waits, free, strict=True):
        assert wait == without if without <= high - cut else 300 <= wait < high - cut
    assert max(Counter(waits).values()) <= 8


@given(NUMBERS, COUNTS.filter(lambda count: count < 5), st.integers(300, 20_000))
def test_a_later_deadline_never_makes_a_retry_earlier(claim: ClaimId, count: int, room: int) -> None:
    deadline = NOW + timedelta(seconds=room, minutes=240)
    request = RetryRequest(claim, "TIMEOUT", retry_count=count, deadline=deadline)
    more = replace(request, deadline=deadline + timedelta(seconds=1))
    short, longer = decide(request, BIL_004, NOW), decide(more, BIL_004, NOW)
    assert isinstance(short, Retry)
    assert isinstance(longer, Retry)
    assert short.next_retry_time <= longer.next_retry_time


def test_a_wait_that_is_too_long_is_moved_up_and_says_so() -> None:
    retry = retried("TIMEOUT", retryCount=4, deadline="2025-01-12T15:10:00Z")
    free = retried("TIMEOUT", retryCount=4).backoff
    assert retry.backoff.seconds == 300 + int(free.fraction * 1_500)
    assert retry.next_retry_time == NOW + retry.wait
    assert retry.retry_count == 5
    assert retry.backoff.fitted_from == free.seconds
    assert retry.reason == "Retry 5 of 5, moved up to leave 240 min before the deadline 2025-01-12T15:10:00Z"
    assert output_variables(retry, BIL_004.profile)["nextRetryTime"] == iso_time(retry.next_retry_time)


def test_the_shortest_wait_is_still_a_retry_and_a_second_less_is_not() -> None:
    edge = NOW + timedelta(minutes=245)
    assert retried("TIMEOUT", deadline=edge.isoformat()).wait == timedelta(minutes=5)
    early = given_up("TIMEOUT", deadline=(edge - timedelta(seconds=1)).isoformat())
    assert isinstance(early, Exhausted)


def test_a_deadline_that_is_too_near_goes_to_a_person_with_the_reason() -> None:
    early = given_up("TIMEOUT", retryCount=1, deadline="2025-01-12T12:00:00Z")
    assert isinstance(early, Exhausted)
    assert early.cause is Cause.DEADLINE
    error = bpmn_error(early)
    assert error.code == "MAX_RETRIES_EXCEEDED"
    assert error.message == (
        "Deadline 2025-01-12T12:00:00Z leaves no time for a retry: "
        "the last 240 min are kept for a person: TIMEOUT"
    )
    assert error_variables(early)["retryReason"] == early.reason
    assert (error_variables(early)["retryCount"], error_variables(early)["maxRetries"]) == (1, 5)


def test_a_deadline_that_has_passed_says_so() -> None:
    assert given_up("TIMEOUT", deadline="2025-01-12T10:40:00Z").reason == (
        "Deadline 2025-01-12T10:40:00Z has passed"
    )


def test_retries_that_are_used_up_are_named_first() -> None:
    spent = given_up("TIMEOUT", retryCount=5, deadline="2025-01-12T10:00:00Z")
    assert isinstance(spent, Exhausted)
    assert (spent.cause, spent.reason) == (Cause.RETRIES, "Maximum of 5 retries exceeded")


def test_a_permanent_error_stays_permanent() -> None:
    assert isinstance(decided("INSURANCE_EXPIRED", deadline="2025-01-12T10:00:00Z"), Permanent)


def test_a_deadline_without_a_zone_is_read_in_the_policys() -> None:
    there = retried("TIMEOUT", deadline="2025-01-14T07:40:00")
    assert there.deadline == datetime(2025, 1, 14, 10, 40, tzinfo=UTC)


@pytest.mark.parametrize("value", ["amanhã", "", "2025-01-14", 20250114, "9999-99-99T00:00", True])
@pytest.mark.parametrize("policy", [BIL_004, BIL_005], ids=lambda policy: policy.profile.name)
def test_a_bad_deadline_is_rejected_with_field_rule_and_remedy(policy: Policy, value: object) -> None:
    with pytest.raises(InvalidInput) as rejected:
        decided("TIMEOUT", policy, deadline=value)
    line = str(rejected.value)
    assert line.startswith("Variable deadline is ")
    assert "(rule BIL-005 10.1)" in line
    assert "2025-01-14T10:40:00-03:00, or to null; then retry the incident in Operate." in line


@pytest.mark.parametrize("seconds", [-1, 31_536_001])
def test_an_impossible_reserve_is_refused(seconds: int) -> None:
    with pytest.raises(InvalidPolicy, match=f"reserve is {seconds} s: choose 0 up to a year"):
        RetryLimits(reserve_seconds=seconds)


@pytest.mark.parametrize("why", ["HTTP 401", "credentials refused", "INVALID_PATIENT_DATA", "TISS 1001"])
@given(POLICIES, COUNTS, st.timedeltas(-timedelta(days=1), timedelta(hours=4)))
def test_a_claim_that_admission_held_to_its_deadline_ran_out_of_time_whatever_stopped_its_payer(
    why: str, policy: Policy, count: int, ahead: timedelta
) -> None:
    error = f"SERVICE_UNAVAILABLE - payer 1 is not available ({why}) and the claim's deadline is near"
    held = given_up(
        error,
        policy,
        submissionErrorCode="ADMISSION:DEADLINE",
        retryCount=count,
        deadline=iso_time(NOW + ahead),
    )
    assert isinstance(held, Exhausted)
    assert (held.cause, held.classification, held.warning) == (Cause.DEADLINE, "TRANSIENT", None)
