"""A task header that is not known is a mistake, not silence; those of others are left alone."""

import pytest

from domain.errors import InvalidInput
from workers.policy import load_policy
from workers.policy.overrides import HEADERS, effective_policy

POLICY = load_policy()


def refusal(**headers: str) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        effective_policy(POLICY, None, headers)
    return refused.value


@pytest.mark.parametrize(
    ("header", "meant"),
    [("maxRetires", "maxRetries"), ("maxretries", "maxRetries"), ("max_retries", "maxRetries"),
     ("MaxRetry", "maxRetries"), (" maxRetries", "maxRetries"), ("claimIDForm", "claimIdForm"),
     ("onGiveup", "onGiveUp"), ("timezone", "timeZone")],
)  # fmt: skip
def test_a_header_that_is_nearly_known_is_told_which_was_meant(header: str, meant: str) -> None:
    error = refusal(**{header: "3"})
    assert error.variable == f"Task header {header}"
    assert error.problem == f"there is no such header, did you mean {meant}?"
    assert error.rule == "task headers"
    assert "Correct the header in the model" in error.remedy


def test_a_header_that_is_nothing_like_ours_is_told_which_there_are() -> None:
    assert refusal(colour="red").problem == f"there is no such header, known are {', '.join(HEADERS)}"


def test_a_misspelt_header_is_refused_beside_a_known_one() -> None:
    assert refusal(maxRetries="3", maxRetires="3").variable == "Task header maxRetires"


def test_a_headers_name_and_value_show_no_person() -> None:
    assert "529" not in str(refusal(**{"529 982 247-25": "529.982.247-25"}))


@pytest.mark.parametrize(
    "header",
    ["io.camunda.zeebe:assignee", "hospital.note", "hospital:note", "elementTemplateId",
     "elementTemplateVersion", "modelerTemplate"],
)  # fmt: skip
def test_headers_of_others_are_left_alone(header: str) -> None:
    assert effective_policy(POLICY, None, {header: "x"}) is POLICY
    assert effective_policy(POLICY, None, {header: "x", "maxRetries": "3"}).limits.max_retries == 3


def test_the_remedy_says_that_a_job_keeps_its_headers_and_how_its_task_begins_again() -> None:
    for refused in (refusal(maxRetires="3"), refusal(maxRetries="9")):
        assert "migrate the instance, then let the task begin again" in refused.remedy
        assert "a job keeps its headers" in refused.remedy
        assert "`reenvio claim resolve CLAIM`" in refused.remedy
        assert "`reenvio claim resolve CLAIM`" in str(refused)
