"""What a BPMN element may change by task headers, and how a wrong header reads."""

from zoneinfo import ZoneInfo

import pytest

from domain.backoff import RetryLimits
from domain.errors import InvalidInput
from domain.policy import EmptyError, GiveUp, Policy
from tests.support.patients import CARD, CNS, CPF, DIGITS, NAME
from workers.policy import load_policy, parse_policy
from workers.policy.file import default_text
from workers.policy.overrides import HEADERS, effective_policy

POLICY = load_policy()


def under(policy: Policy = POLICY, payer: str | None = None, **headers: str) -> Policy:
    return effective_policy(policy, payer, headers)


def test_without_headers_the_policy_is_itself() -> None:
    assert under() is POLICY


def test_limits_are_replaced_one_by_one() -> None:
    assert under(maxRetries="3").limits == RetryLimits(max_retries=3)
    changed = under(baseMinutes="7", minMinutes="5.5", maxMinutes="60", backoffFactor="3", jitterPercent="20")
    assert changed.limits == RetryLimits(5, 420, 330, 3600, 3, 20)
    assert under(reserveMinutes="30").limits == RetryLimits(reserve_seconds=1_800)


def test_profile_zone_and_choices_are_replaced() -> None:
    assert under(retryProfile="RN-BIL-005").profile is POLICY.profiles["RN-BIL-005"]
    assert under(timeZone="UTC").zone == ZoneInfo("UTC")
    assert under(onGiveUp="return").on_give_up is GiveUp.RETURN
    assert under(onGiveUp=" Throw ").on_give_up is GiveUp.THROW
    assert under(onEmptyError="assume-transient").profile.empty_error is EmptyError.ASSUME_TRANSIENT
    both = under(retryProfile="RN-BIL-005", onEmptyError="reject")
    assert (both.profile.name, both.profile.empty_error) == ("RN-BIL-005", EmptyError.REJECT)


def test_entries_are_added_and_moved() -> None:
    changed = under(alsoPermanent="PORTAL_CLOSED, TISS:3160", alsoTransient="MESSAGE_INVALID,")
    assert changed.catalog.codes["TISS:3160"].permanent
    assert "PORTAL_CLOSED" in dict(changed.catalog.permanent_words)
    assert "MESSAGE_INVALID" in dict(changed.catalog.transient_words)
    assert "MESSAGE_INVALID" not in dict(changed.catalog.permanent_words)


def test_a_payers_settings_come_first_and_headers_on_top() -> None:
    policy = parse_policy(default_text() + "[payers.302147.limits]\nmax_retries = 4\nbase_minutes = 6\n")
    assert under(policy, "302147").limits == RetryLimits(max_retries=4, base_seconds=360)
    assert under(policy, "302147", maxRetries="2").limits == RetryLimits(max_retries=2, base_seconds=360)


def test_a_change_shows_in_the_version_and_the_same_change_shows_the_same() -> None:
    labels = {
        POLICY.label,
        under(maxRetries="3").label,
        under(maxRetries="4").label,
        under(onGiveUp="return").label,
    }
    assert len(labels) == 4
    assert under(maxRetries="3").label == under(maxRetries="3").label
    assert under(maxRetries="3").version == POLICY.version


@pytest.mark.parametrize(
    ("header", "text", "problem"),
    [("maxRetries", "five", "it must be a number"), ("maxRetries", "", "it must be a number"),
     ("maxRetries", "0", "max_retries is 0: choose 1 to 50"), ("maxRetries", "2.5", "it must be a number"),
     ("baseMinutes", "1", "waits are shortest 300 s, first 60 s"),
     ("maxMinutes", "nan", "it must be a number"),
     ("reserveMinutes", "long", "it must be a number"), ("reserveMinutes", "-1", "it must be a number"),
     ("maxMinutes", "inf", "it must be a number"), ("jitterPercent", "200", "choose 0 to 100"),
     ("retryProfile", "RN-X", 'no profile "RN-X": choose one of RN-BIL-004, RN-BIL-005'),
     ("timeZone", "Mars/Base", "choose a name such as America/Sao_Paulo"),
     ("onGiveUp", "shrug", "choose throw or return"),
     ("onEmptyError", "", "choose reject or assume-transient"),
     ("alsoPermanent", "x", "an entry is a word"), ("alsoTransient", "A:B", "an entry is a word")],
)  # fmt: skip
def test_a_wrong_header_is_rejected_by_name(header: str, text: str, problem: str) -> None:
    assert header in HEADERS
    with pytest.raises(InvalidInput) as rejected:
        effective_policy(POLICY, None, {header: text})
    error = rejected.value
    assert error.variable == f"Task header {header}"
    assert problem in error.problem
    assert error.value == f'the text "{text}"'
    assert error.rule == "task headers"
    assert "Correct the header in the model" in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("header", [*HEADERS, "profile"])
@pytest.mark.parametrize(
    "text",
    [CPF, DIGITS, CNS, CARD, NAME, NAME.upper(), "CID F32.1", CPF.replace(".", "%2E"), "529.982\n.247-25"],
    ids=repr,
)
def test_a_header_that_holds_a_person_is_not_repeated(header: str, text: str) -> None:
    """It is the model's own text, and yet nobody knows what a modeller has tried out."""
    try:
        effective_policy(POLICY, None, {header: text})
    except InvalidInput as rejected:
        said = str(rejected)
        assert text not in said
        assert [part for part in ("529.982", "529%2E982", ".247-25", "F32.1") if part in said] == []
