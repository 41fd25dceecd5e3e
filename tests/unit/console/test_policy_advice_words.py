"""What is unwise about a policy, in the words of who reads: with the numbers that the command line tells."""

from dataclasses import replace

import pytest

from domain.backoff import RetryLimits
from domain.limit_rules import LimitRule
from domain.policy import Policy
from workers.config.idempotency import IdempotencySettings
from workers.console.views.policy_board import advice_lines
from workers.console.words import LANGUAGES, words_of
from workers.policy import load_policy, parse_policy
from workers.policy.file import default_text
from workers.policy.tools.lint import lint

PT = words_of("pt")
POLICY = load_policy()
LIMITS = POLICY.limits
OWN = "[payers.302147.limits]\nmax_retries = 3\n"
UNTEAMED = tuple(replace(one, team=None) for one in POLICY.catalog.categories)
UNWISE = [
    POLICY,
    parse_policy(default_text() + OWN),
    replace(POLICY, leaves=frozenset({LimitRule.BIL_004_V3})),
    replace(POLICY, limits=RetryLimits(6, 300, 300, 14_400, 2, 0)),
    replace(POLICY, limits=replace(LIMITS, reserve_seconds=48 * 3_600)),
    replace(POLICY, limits=replace(LIMITS, reserve_seconds=23 * 3_600)),
    replace(POLICY, catalog=replace(POLICY.catalog, categories=UNTEAMED)),
]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("policy", UNWISE)
def test_every_finding_is_told_with_its_numbers(policy: Policy, language: str) -> None:
    found, words = lint(policy, IdempotencySettings(ttl_hours=24)), words_of(language)
    assert found
    assert all(one.cases for one in found)
    lines = advice_lines(found, words)
    assert sum(len(line.cases) for line in lines) == sum(len(one.cases) for one in found)
    assert not any("{" in case for line in lines for case in line.cases)


def test_the_numbers_are_those_of_the_command_line() -> None:
    [found] = [one for one in lint(POLICY, IdempotencySettings()) if one.name == "unreachable-cap"]
    [line] = advice_lines([found], PT)
    assert found.finding.startswith("the longest possible wait is 96 min; the cap of 240 min")
    assert line.cases == ["A maior espera possível é 96 min; a permitida é 240 min."]


def test_a_payers_own_limits_are_told_with_the_payer() -> None:
    lines = advice_lines(lint(UNWISE[1], IdempotencySettings()), PT)
    assert any(case.startswith("Operadora 302147: ") for line in lines for case in line.cases)
