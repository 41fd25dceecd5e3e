"""What holds for every request, policy and time."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.backoff import RetryLimits
from domain.claim import ClaimId
from domain.decision import Exhausted, Permanent, Retry, RetryRequest, decide
from domain.events import events_of, payload
from domain.outputs import output_variables
from domain.policy import Policy
from tests.unit.domain.deciding import BIL_004, BIL_005, CLAIM, NOW, POLICY, decided, retried

CLAIMS = st.from_regex(r"CLM-[A-Za-z0-9._-]{1,40}-[0-9]{1,12}", fullmatch=True).map(ClaimId)
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(lambda time: time.replace(tzinfo=UTC))  # noqa: DTZ001
PERMANENT = [word for word, _ in POLICY.catalog.permanent_words]
TRANSIENT = [word for word, _ in POLICY.catalog.transient_words]


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    floor = draw(st.integers(1, 3_600))
    base = draw(st.integers(floor, 7_200))
    cap = draw(st.integers(base, 500_000))
    limits = RetryLimits(
        draw(st.integers(1, 50)), base, floor, cap, draw(st.integers(1, 10)), draw(st.integers(0, 100))
    )
    return replace(
        draw(st.sampled_from([BIL_004, BIL_005])), limits=limits, version=draw(st.sampled_from("abc"))
    )


@given(policies(), CLAIMS, st.integers(0, 60), TIMES)
def test_a_retry_is_in_the_future_inside_its_window_and_counts_one_up(
    policy: Policy, claim: ClaimId, count: int, now: datetime
) -> None:
    decision = decide(RetryRequest(claim, "TIMEOUT", retry_count=count), policy, now)
    if count >= policy.limits.max_retries:
        assert isinstance(decision, Exhausted)
        assert decision.retry_count == count
        return
    assert isinstance(decision, Retry)
    assert decision.retry_count == count + 1
    assert decision.next_retry_time > now
    waited = decision.next_retry_time - now
    assert timedelta(seconds=decision.backoff.low_seconds) <= waited
    assert waited < timedelta(seconds=decision.backoff.high_seconds + 1)
    assert (
        waited <= timedelta(seconds=decision.backoff.high_seconds)
        or policy.limits.jitter_percent == 0
        or (decision.backoff.high_seconds == decision.backoff.low_seconds)
    )


ASK = """
from dataclasses import asdict
from tests.unit.domain.test_decision_properties import questions
from domain.decision import decide
print([asdict(decide(*question)) for question in questions()])
"""


def questions() -> list[tuple[RetryRequest, Policy, datetime]]:
    """Some of each kind: every count, with and without deadline, all three classes."""
    errors = ("TIMEOUT", "INSURANCE_EXPIRED", "hm")
    return [
        (RetryRequest(ClaimId(CLAIM), error, retry_count=count, deadline=deadline), policy, NOW)
        for policy in (BIL_004, BIL_005)
        for error in errors
        for count in range(7)
        for deadline in (None, NOW + timedelta(hours=4, minutes=10))
    ]


@pytest.mark.parametrize("seed", ["0", "1", "4000000000"])
def test_the_same_question_has_the_same_answer_in_any_process_on_any_machine(seed: str) -> None:
    environment = os.environ | {"PYTHONHASHSEED": seed, "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    elsewhere = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True
    )
    assert elsewhere.stdout.strip() == str([asdict(decide(*question)) for question in questions()])


@given(CLAIMS, TIMES, TIMES)
def test_the_wait_does_not_depend_on_when_it_is_asked(claim: ClaimId, now: datetime, later: datetime) -> None:
    request = RetryRequest(claim, "TIMEOUT")
    first, second = decide(request, BIL_004, now), decide(request, BIL_005, later)
    assert isinstance(first, Retry)
    assert isinstance(second, Retry)
    assert first.backoff == second.backoff


@given(st.text(max_size=80), st.sampled_from(PERMANENT), st.sampled_from(TRANSIENT), st.text(max_size=80))
def test_the_permanent_list_always_wins(before: str, permanent: str, transient: str, after: str) -> None:
    for text in (f"{before} {permanent} {transient} {after}", f"{before} {transient} {permanent} {after}"):
        assert isinstance(decided(text), Permanent)
        assert isinstance(decided(text, submissionErrorCode="HTTP:503"), Permanent)


@settings(max_examples=500)
@given(st.text(max_size=2_000), st.sampled_from([BIL_004, BIL_005]), st.integers(0, 6))
def test_no_text_crashes_it_and_its_outputs_are_plain(text: str, policy: Policy, count: int) -> None:
    decision = decide(RetryRequest(ClaimId(CLAIM), text, retry_count=count), policy, NOW)
    for value in output_variables(decision, policy.profile).values():
        assert value is None or isinstance(value, bool | int | str)
    assert decision.last_error.isprintable()


@pytest.fixture(params=["UTC", "America/Sao_Paulo", "Asia/Kathmandu"])
def machine_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("machine_zone")
def test_the_zone_of_the_machine_does_not_matter() -> None:
    retry = retried("TIMEOUT", BIL_005, retryCount=1, lastSubmissionTime="2025-01-12T07:39:00")
    assert output_variables(retry, BIL_005.profile)["nextRetryTime"] == "2025-01-12T10:49:15Z"
    assert retry.next_retry_time.utcoffset() == timedelta(0)
    assert retry.last_submission_time == datetime(2025, 1, 12, 10, 39, tzinfo=UTC)
    assert retry.last_submission_time.utcoffset() == timedelta(0)
    (event,) = events_of(retry, BIL_005.profile)
    assert payload(event)["scheduledAt"] == "2025-01-12T10:40:00.000Z"


def test_another_zone_gives_the_same_instant() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=-3)))
    assert retried("TIMEOUT", now=there).next_retry_time == retried("TIMEOUT").next_retry_time


def test_a_time_with_a_fraction_is_rounded_up_to_the_next_second() -> None:
    whole = retried("TIMEOUT").next_retry_time
    assert retried("TIMEOUT", now=NOW.replace(microsecond=1)).next_retry_time == whole + timedelta(seconds=1)
    assert whole.microsecond == 0


def test_a_time_without_a_zone_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match=r"^now needs a time zone$"):
        decided("TIMEOUT", now=NOW.replace(tzinfo=None))


def test_a_decision_keeps_what_it_was_made_with() -> None:
    retry = retried("TIMEOUT", lastSubmissionTime="2025-01-12T10:39:00Z")
    assert retry.policy_version == BIL_004.label == f"{BIL_004.version}+{BIL_004.fingerprint}"
    assert retry.decided_at == NOW
    assert retry.max_retries == 5
    assert retry.last_submission_time == NOW - timedelta(minutes=1)
    assert retry.last_error == "TIMEOUT"


def test_the_policy_version_changes_the_wait() -> None:
    other = replace(BIL_004, version="2")
    assert retried("TIMEOUT", other, retryCount=4).wait != retried("TIMEOUT", retryCount=4).wait


def test_the_jitter_key_changes_the_wait() -> None:
    other = replace(BIL_004, jitter_key="other")
    assert retried("TIMEOUT", other, retryCount=4).wait != retried("TIMEOUT", retryCount=4).wait
