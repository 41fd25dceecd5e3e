"""When a mail is sent again: the tables of both documents, and what ends it."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.codes import MailFailure, OwnCode
from domain.mail.lanes import lane_of
from domain.mail.mail import MAIL_LIFE, message_id, outbox_id
from domain.mail.retry import (
    DEFAULT_PROFILE,
    PROFILES,
    AfterFailure,
    DeathCause,
    FailedAttempt,
    MailRetryProfile,
    MoveToDeadLetters,
    SendAgain,
    after_failure,
    death_of_age,
    is_expired,
    wait_after,
    wait_window,
)
from tests.support.builders import NOW, later

PROFILE = PROFILES[DEFAULT_PROFILE]
PRODUCTION, DEVELOPMENT = PROFILES["02-production"], PROFILES["02-development"]
SECOND = timedelta(seconds=1)
IDS = [outbox_id("wait", number) for number in range(2_000)]


@pytest.mark.parametrize(
    ("attempt", "window"),
    [
        (1, (750, 1_250)), (2, (1_500, 2_500)), (3, (3_000, 5_000)), (4, (6_000, 10_000)),
        (5, (12_000, 20_000)), (6, (24_000, 40_000)), (7, (45_000, 75_000)), (50, (45_000, 75_000)),
    ],
)  # fmt: skip
def test_03_delay_table(attempt: int, window: tuple[int, int]) -> None:
    assert wait_window(attempt, PROFILE) == window


@pytest.mark.parametrize("attempt", range(1, 8))
def test_the_waits_of_many_mails_fill_their_window(attempt: int) -> None:
    low, high = wait_window(attempt, PROFILE)
    waits = [wait_after(one, attempt, PROFILE) / timedelta(milliseconds=1) for one in IDS]
    tenth = (high - low) / 10
    assert low <= min(waits) < low + tenth
    assert high - tenth < max(waits) <= high
    assert abs(sum(waits) / len(waits) - (low + high) / 2) < tenth / 2


@given(st.uuids().map(str), st.integers(1, 60), st.sampled_from(list(PROFILES.values())))
def test_a_wait_is_derived_and_inside_its_window(one: str, attempt: int, profile: MailRetryProfile) -> None:
    low, high = wait_window(attempt, profile)
    wait = wait_after(one, attempt, profile)
    assert wait == wait_after(one, attempt, profile)
    assert low <= wait / timedelta(milliseconds=1) <= high


def test_02_production_is_5_attempts_1_s_and_never_more_than_300_s() -> None:
    assert (PRODUCTION.max_attempts, PRODUCTION.base_ms, PRODUCTION.cap_ms) == (5, 1_000, 300_000)
    assert wait_window(9, PRODUCTION) == (192_000, 300_000)
    assert wait_window(60, PRODUCTION) == (300_000, 300_000)


def test_02_development_is_3_attempts_500_ms_and_30_s() -> None:
    assert (DEVELOPMENT.max_attempts, DEVELOPMENT.base_ms, DEVELOPMENT.cap_ms) == (3, 500, 30_000)
    assert wait_window(1, DEVELOPMENT) == (375, 625)


def test_the_default_is_the_later_document() -> None:
    assert (PROFILE.max_attempts, PROFILE.base_ms, PROFILE.cap_ms) == (5, 1_000, 60_000)


def failed(attempt: int, failure: MailFailure | None = None) -> FailedAttempt:
    return FailedAttempt(IDS[0], attempt, failure or MailFailure("421"), NOW + MAIL_LIFE)


def test_five_attempts_have_four_waits() -> None:
    answers = [after_failure(failed(attempt), PROFILE, NOW) for attempt in range(1, 6)]
    assert [type(answer) for answer in answers] == [SendAgain] * 4 + [MoveToDeadLetters]
    assert answers[4] == MoveToDeadLetters(DeathCause.ATTEMPTS, "421", "SMTP 421: service not available")


@pytest.mark.parametrize("attempt", range(1, 6))
def test_a_permanent_error_is_dead_lettered_at_once(attempt: int) -> None:
    answer = after_failure(failed(attempt, MailFailure("554")), PROFILE, NOW)
    assert answer == MoveToDeadLetters(DeathCause.PERMANENT, "554", "SMTP 554: transaction failed")


def test_what_still_waits_after_24_h_is_not_sent_late() -> None:
    assert timedelta(hours=24) == MAIL_LIFE
    just, over = NOW + MAIL_LIFE - SECOND, NOW + MAIL_LIFE
    assert isinstance(after_failure(failed(1), PROFILE, just), SendAgain)
    assert _cause(after_failure(failed(1), PROFILE, over)) is DeathCause.AGE
    assert not is_expired(over, just)
    assert is_expired(over, over)


def _cause(answer: AfterFailure) -> DeathCause:
    assert isinstance(answer, MoveToDeadLetters)
    return answer.cause


def test_a_death_of_age_says_what_had_failed_before() -> None:
    assert death_of_age(None).code == OwnCode.EXPIRED
    assert "SMTP 421" in death_of_age("SMTP 421: x").reason


@given(st.integers(1, 50), st.sampled_from(["421", "550", "Throttling", OwnCode.ANSWER_LOST]))
def test_a_dead_letters_reason_is_never_blank(attempt: int, code: str) -> None:
    answer = after_failure(failed(attempt, MailFailure(code)), PROFILE, later(days=2))
    assert isinstance(answer, MoveToDeadLetters)
    assert answer.reason.strip()


def test_a_mails_ids_are_derived_so_that_a_second_copy_is_known_as_one() -> None:
    assert outbox_id("notify", 7, "CLM-1-1") == outbox_id("notify", 7, "CLM-1-1")
    assert outbox_id("notify", 7, "CLM-1-1") != outbox_id("notify", 71, "CLM-1-1")
    assert message_id("abc", "hospital.example") == "<abc@hospital.example>"


@given(st.text(min_size=1), st.integers(1, 64))
def test_a_company_keeps_its_lane(company: str, lanes: int) -> None:
    assert lane_of(company, lanes) == lane_of(company, lanes)
    assert 0 <= int(lane_of(company, lanes)) < lanes


def test_companies_are_spread_over_all_lanes() -> None:
    assert {lane_of(f"company-{number}", 8) for number in range(200)} == set("01234567")


def test_one_lane_is_lane_0() -> None:
    assert lane_of("anybody", 1) == "0"
