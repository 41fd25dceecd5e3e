"""BIL-004-V4: waits that leave the jitter no room make claims that failed together return together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.backoff import RetryLimits, window
from domain.errors import InvalidInput, InvalidPolicy
from domain.limit_rules import LimitRule, left_rules
from tests.unit.domain.deciding import retried
from tests.unit.policy.test_left_rules import problems, text_with
from workers.policy import load_policy, parse_policy
from workers.policy.overrides import effective_policy

POLICY = load_policy()
HALF_AN_HOUR = ("min_minutes = 30", "base_minutes = 30", "max_minutes = 30")


@pytest.mark.parametrize(
    ("headers", "at_fault"),
    [({"maxMinutes": "5"}, "maxMinutes"), ({"maxMinutes": "5.02"}, "maxMinutes"),
     ({"baseMinutes": "30", "minMinutes": "30", "maxMinutes": "30"}, "minMinutes, maxMinutes"),
     ({"baseMinutes": "240", "minMinutes": "240"}, "minMinutes"), ({"maxMinutes": "6.24"}, "maxMinutes")],
)  # fmt: skip
def test_bil_004_v4_headers_cannot_take_the_room_of_the_jitter_away(
    headers: dict[str, str], at_fault: str
) -> None:
    named = parse_policy(text_with(leaves='["BIL-004-V4"]'))
    for policy in (POLICY, named):
        with pytest.raises(InvalidInput) as refused:
            effective_policy(policy, None, headers)
        assert refused.value.variable == f"Task header {at_fault}"
        assert refused.value.rule == "BIL-004-V4"
        assert "at most 80 % of the longest" in refused.value.problem


def test_bil_004_v4_a_file_whose_waits_are_all_one_names_the_rule_it_leaves() -> None:
    told = problems(text_with(*HALF_AN_HOUR))
    assert "waits of 30 to 30 min: BIL-004-V4 asks for a shortest wait of at most 80 % of the longest" in told
    assert 'leaves = ["BIL-004-V4"]' in told
    named = parse_policy(text_with(*HALF_AN_HOUR, leaves='["BIL-004-V4"]'))
    assert named.left_rules == ("BIL-004-V4",)
    assert retried("TIMEOUT", named).reason.endswith("(leaves BIL-004-V4)")
    twice = text_with(*HALF_AN_HOUR, "jitter_percent = 10", leaves='["BIL-004-V4"]')
    assert parse_policy(twice).left_rules == ("BIL-004-V4",)


def test_bil_004_v4_a_header_that_touches_no_wait_is_not_at_fault_for_the_file() -> None:
    named = parse_policy(text_with(*HALF_AN_HOUR, leaves='["BIL-004-V4"]'))
    assert effective_policy(named, None, {"maxRetries": "2"}).limits.max_retries == 2


@settings(deadline=None)
@given(
    waits=st.tuples(*[st.integers(300, 14_400)] * 3).map(sorted),
    factor=st.integers(1, 10),
    count=st.integers(0, 4),
)
def test_bil_004_v4_within_the_rule_at_least_half_of_every_window_is_left(
    waits: list[int], factor: int, count: int
) -> None:
    floor, base, cap = waits
    limits = RetryLimits(base_seconds=base, floor_seconds=floor, cap_seconds=cap, factor=factor)
    low, high = window(limits, count)
    if LimitRule.BIL_004_V4 not in left_rules(limits):
        assert high - low >= min(base * factor**count, cap) * 20 // 100
    else:
        assert floor > cap * 0.8


@pytest.mark.parametrize("cap", [375, 14_400])
def test_bil_004_v4_the_last_window_at_the_longest_wait_keeps_its_lower_half(cap: int) -> None:
    limits = RetryLimits(cap_seconds=cap)
    assert left_rules(limits) == ()
    assert window(limits, 9) == (cap * 8 // 10, cap)


@pytest.mark.parametrize(
    ("header", "text"), [("minMinutes", "0"), ("maxMinutes", "0"), ("minMinutes", "241")]
)
def test_bil_004_v3_a_wait_of_nothing_is_refused_by_the_rule_and_not_by_its_order(
    header: str, text: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        effective_policy(POLICY, None, {header: text})
    assert refused.value.rule == "BIL-004-V3"
    assert refused.value.variable == f"Task header {header}"
    assert "waits of 5 to 240 min" in refused.value.problem


def test_waits_in_the_wrong_order_within_the_rule_are_still_told_as_such() -> None:
    with pytest.raises(InvalidInput, match="they must grow in this order") as refused:
        effective_policy(POLICY, None, {"minMinutes": "60"})
    assert refused.value.rule == "task headers"


def test_bil_004_v4_a_payers_own_waits_are_held_to_the_same() -> None:
    with pytest.raises(InvalidPolicy, match="payer 302147: waits of 5 to 5 min: BIL-004-V4"):
        parse_policy(text_with() + "[payers.302147.limits]\nmax_minutes = 5\n")
