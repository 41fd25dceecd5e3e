"""V1, V3 and V4 are critical: limits keep them, unless the policy file says by name that it leaves one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from domain.decision import Retry
from domain.errors import InvalidInput, InvalidPolicy
from domain.policy import Policy
from tests.unit.domain.deciding import decided, given_up, retried
from workers.cli.decide import decide_command
from workers.cli.policy import policy_app
from workers.config.idempotency import IdempotencySettings
from workers.policy import load_policy, parse_policy
from workers.policy.file import default_text
from workers.policy.overrides import effective_policy
from workers.policy.tools.diff import PolicyChange, diff
from workers.policy.tools.lint import Advice, lint

APP = typer.Typer()
APP.command("decide")(decide_command)
APP.add_typer(policy_app, name="policy")
WITHOUT_RULES = ("max_retries = 20", "base_minutes = 1", "min_minutes = 1", "max_minutes = 2000")
ALL_RULES = '["BIL-004-V1", "BIL-004-V3", "BIL-004-V4", "BIL-005-V1"]'
BREAKING = [
    ("max_retries = 6", '"BIL-004-V1", "BIL-005-V1"'),
    ("min_minutes = 4.99", '"BIL-004-V3"'),
    ("max_minutes = 240.01", '"BIL-004-V3"'),
    ("jitter_percent = 19", '"BIL-004-V4"'),
    ("jitter_percent = 21", '"BIL-004-V4"'),
    ("jitter_percent = 0", '"BIL-004-V4"'),
]


def text_with(*limits: str, leaves: str = "[]") -> str:
    """The packaged policy with some of its limits and the rules that it leaves replaced."""
    text = default_text().replace("leaves = []", f"leaves = {leaves}", 1)
    for line in limits:
        name = line.split(" = ", maxsplit=1)[0]
        [old] = [known for known in text.splitlines() if known.startswith(f"{name} = ")]
        text = text.replace(f"\n{old}\n", f"\n{line}\n", 1)
    return text


def problems(text: str) -> str:
    with pytest.raises(InvalidPolicy) as refused:
        parse_policy(text)
    return "; ".join(refused.value.problems)


def advice(policy: Policy, name: str) -> list[Advice]:
    return [found for found in lint(policy, IdempotencySettings(ttl_hours=48)) if found.name == name]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(APP, [*arguments], env={"COLUMNS": "250"})


@pytest.fixture
def leaving(tmp_path: Path) -> Path:
    file = tmp_path / "leaving.toml"
    file.write_text(text_with(*WITHOUT_RULES, "jitter_percent = 80", leaves=ALL_RULES), encoding="utf-8")
    return file


@pytest.mark.parametrize(("limit", "rules"), BREAKING)
def test_bil_004_v1_v3_v4_limits_that_leave_a_rule_are_refused_unless_the_file_names_it(
    limit: str, rules: str
) -> None:
    told = problems(text_with(limit))
    assert f"leaves = [{rules}]" in told
    assert "(critical)" in told
    assert parse_policy(text_with(limit, leaves=f"[{rules}]")).left_rules == tuple(json.loads(f"[{rules}]"))


@pytest.mark.parametrize(("limit", "rules"), BREAKING)
def test_bil_004_v1_v3_v4_a_payers_own_limits_are_held_to_the_same(limit: str, rules: str) -> None:
    section = f"[payers.302147.limits]\n{limit}\n"
    assert problems(default_text() + section).startswith("payer 302147: ")
    named = parse_policy(default_text() + f"[payers.302147]\nleaves = [{rules}]\n" + section)
    assert named.left_rules == ()
    assert named.for_payer("302147").left_rules == tuple(json.loads(f"[{rules}]"))


def test_every_rule_that_is_left_must_be_named() -> None:
    assert '"BIL-004-V1", "BIL-005-V1"' in problems(text_with("max_retries = 6", leaves='["BIL-004-V1"]'))
    several = problems(text_with(*WITHOUT_RULES, "jitter_percent = 80"))
    for words in (
        "20 retries: BIL-004-V1",
        "waits of 1 to 2000 min: BIL-004-V3",
        "jitter of +-80 %: BIL-004-V4",
    ):
        assert words in several


@pytest.mark.parametrize("name", ["BIL-004-V2", "V3", "bil-004-v3", ""])
def test_a_rule_that_nobody_may_leave_cannot_be_named(name: str) -> None:
    told = problems(text_with(leaves=f'["{name}"]'))
    assert told.startswith("leaves.0: Input should be 'BIL-004-V1'")


@st.composite
def limits_near_the_rules(draw: st.DrawFn) -> tuple[str, ...]:
    """Limits inside the rules and a little outside, in any order of waits."""
    shortest, longest = draw(st.sampled_from([4.9, 5, 5, 9])), draw(st.sampled_from([10, 239, 240, 240, 241]))
    return (
        f"max_retries = {draw(st.integers(1, 6))}",
        f"min_minutes = {shortest}",
        f"base_minutes = {draw(st.floats(shortest, longest))}",
        f"max_minutes = {longest}",
        f"factor = {draw(st.integers(1, 10))}",
        f"jitter_percent = {draw(st.sampled_from([19, 20, 20, 20, 21]))}",
    )


@settings(deadline=None)
@given(limits_near_the_rules(), st.integers(0, 6))
def test_bil_004_v3_v4_a_policy_that_names_no_rule_waits_5_to_240_min_within_20_percent_and_5_times_at_most(
    limits: tuple[str, ...], count: int
) -> None:
    try:
        policy = parse_policy(text_with(*limits))
    except InvalidPolicy:
        return
    decision = decided("TIMEOUT", policy, retryCount=count)
    assert isinstance(decision, Retry) is (count < policy.limits.max_retries <= 5)
    if isinstance(decision, Retry):
        seconds, base = decision.backoff.seconds, decision.backoff.base_seconds
        assert 5 <= decision.backoff_minutes <= 240
        assert 300 <= seconds <= 14_400
        assert base * 80 <= seconds * 100 <= base * 120


@settings(deadline=None)
@given(low=st.floats(4.9, 5.1), base=st.floats(5.1, 239), high=st.floats(239.9, 240.1))
def test_bil_004_v3_seconds_are_what_counts_at_the_edges(low: float, base: float, high: float) -> None:
    limits = (f"min_minutes = {low}", f"base_minutes = {base}", f"max_minutes = {high}")
    inside = round(low * 60) >= 300 and round(high * 60) <= 14_400
    if inside:
        assert parse_policy(text_with(*limits)).left_rules == ()
    else:
        assert "BIL-004-V3" in problems(text_with(*limits))


@pytest.mark.parametrize(
    ("headers", "rule"),
    [({"maxRetries": "6"}, "BIL-004-V1, BIL-005-V1"),
     ({"baseMinutes": "0.02", "minMinutes": "0.02"}, "BIL-004-V3"),
     ({"baseMinutes": "4.9", "minMinutes": "4.9"}, "BIL-004-V3"), ({"maxMinutes": "241"}, "BIL-004-V3"),
     ({"jitterPercent": "10"}, "BIL-004-V4"), ({"jitterPercent": "80"}, "BIL-004-V4")],
)  # fmt: skip
def test_bil_004_v1_v3_v4_a_header_cannot_leave_a_rule_even_where_the_file_does(
    headers: dict[str, str], rule: str, leaving: Path
) -> None:
    for policy in (load_policy(), load_policy(leaving)):
        with pytest.raises(InvalidInput) as refused:
            effective_policy(policy, None, headers)
        assert refused.value.variable == f"Task header {', '.join(headers)}"
        assert refused.value.rule == rule
        assert "a header cannot leave it" in refused.value.problem
        assert "Only the policy file can leave a rule, by name." in str(refused.value)


def test_a_header_at_fault_is_named_and_the_others_are_not() -> None:
    with pytest.raises(InvalidInput, match='Task header maxRetries is the text "9"'):
        effective_policy(load_policy(), None, {"baseMinutes": "60", "maxRetries": "9"})
    with pytest.raises(InvalidInput, match='Task header minMinutes is the text "4"'):
        effective_policy(load_policy(), None, {"baseMinutes": "6", "minMinutes": "4"})


def test_a_header_may_bring_limits_back_into_the_rules(leaving: Path) -> None:
    policy = load_policy(leaving)
    assert effective_policy(policy, None, {"maxRetries": "3"}).left_rules == ("BIL-004-V3", "BIL-004-V4")
    back = {
        "maxRetries": "5",
        "minMinutes": "5",
        "baseMinutes": "5",
        "maxMinutes": "240",
        "jitterPercent": "20",
    }
    within = effective_policy(policy, None, back)
    assert within.left_rules == ()
    assert retried("TIMEOUT", within).reason == "Retry 1 of 5"


def test_every_decision_says_which_rules_it_leaves(leaving: Path) -> None:
    policy = load_policy(leaving)
    for decision in (retried("TIMEOUT", policy), given_up("DUPLICATE_CLAIM", policy)):
        assert decision.reason.endswith(" (leaves BIL-004-V1, BIL-004-V3, BIL-004-V4, BIL-005-V1)")
        assert decision.left_rules == policy.left_rules
    exhausted = given_up(
        "TIMEOUT", parse_policy(text_with("max_retries = 6", leaves=ALL_RULES)), retryCount=6
    )
    assert exhausted.reason == "Maximum of 6 retries exceeded (leaves BIL-004-V1, BIL-005-V1)"


def test_a_decision_within_the_rules_says_nothing_of_them() -> None:
    assert retried("TIMEOUT", parse_policy(text_with(leaves=ALL_RULES))).reason == "Retry 1 of 5"


def test_decide_says_which_rules_are_left(leaving: Path) -> None:
    asked = ("decide", "--claim-id", "CLM-1-1", "--error", "TIMEOUT", "--policy", str(leaving))
    told = run(*asked)
    assert told.exit_code == 0
    assert "Retry 1 of 20 (leaves BIL-004-V1, BIL-004-V3, BIL-004-V4, BIL-005-V1), in" in told.stdout
    assert "leaves BIL-004-V1, BIL-004-V3, BIL-004-V4, BIL-005-V1, as the policy says by name" in told.stdout
    assert json.loads(run(*asked, "--json").stdout)["leftRules"] == json.loads(ALL_RULES)
    assert "leftRules" not in run("decide", "--claim-id", "CLM-1-1", "--error", "TIMEOUT", "--json").stdout


def test_show_says_which_rules_are_left(leaving: Path, tmp_path: Path) -> None:
    assert "BIL-004-V3, which asks for waits of 5 to 240 min" in run("policy", "show", str(leaving)).stdout
    assert "no rule" in run("policy", "show").stdout
    own = tmp_path / "own.toml"
    section = '[payers.302147]\nleaves = ["BIL-004-V4"]\n[payers.302147.limits]\njitter_percent = 30\n'
    own.write_text(default_text() + section, encoding="utf-8")
    assert "leaves BIL-004-V4, which asks for a jitter of +-20 %" in run("policy", "show", str(own)).stdout


def test_lint_says_which_rules_are_left_and_which_names_are_not_needed(leaving: Path) -> None:
    told = [found.finding for found in advice(load_policy(leaving), "rule-left")]
    assert told == [
        "20 retries: the file leaves BIL-004-V1, BIL-005-V1 (critical), 1 to 5 retries",
        "waits of 1 to 2000 min: the file leaves BIL-004-V3 (critical), waits of 5 to 240 min",
        "a jitter of +-80 %: the file leaves BIL-004-V4 (critical), a jitter of +-20 %",
    ]
    assert advice(load_policy(leaving), "rule-not-left") == []
    unneeded = advice(parse_policy(text_with(leaves='["BIL-004-V3"]')), "rule-not-left")
    assert [found.finding for found in unneeded] == ["leaves names BIL-004-V3, which its limits keep"]


def test_lint_counts_a_name_as_needed_when_a_payer_needs_it() -> None:
    section = "[payers.302147.limits]\njitter_percent = 30\n"
    shared = parse_policy(text_with(leaves='["BIL-004-V4"]') + section)
    assert advice(shared, "rule-not-left") == []
    assert [found.finding[:14] for found in advice(shared, "rule-left")] == ["payer 302147: "]
    own = parse_policy(default_text() + '[payers.302147]\nleaves = ["BIL-004-V4"]\n')
    [unneeded] = advice(own, "rule-not-left")
    assert unneeded.finding == "payer 302147: leaves names BIL-004-V4, which its limits keep"


def test_the_fingerprint_and_diff_tell_that_a_rule_is_named() -> None:
    named = parse_policy(text_with(leaves='["BIL-004-V3"]'))
    assert named.label != load_policy().label
    assert diff(load_policy(), named) == (PolicyChange("leaves", "no rule", "BIL-004-V3"),)
    own = parse_policy(default_text() + '[payers.302147]\nleaves = ["BIL-004-V4"]\n')
    assert PolicyChange("payer 302147: leaves", "no rule", "BIL-004-V4") in diff(load_policy(), own)
    assert (
        own.for_payer("302147").label != replace(own.for_payer("302147"), fingerprint=own.fingerprint).label
    )
