"""Lint, diff and plot: what they say about a policy, with numbers that were checked by simulation."""

import random
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from domain.backoff import RetryLimits, window
from domain.limit_rules import LimitRule
from domain.policy import Expectations, Policy
from workers.config.idempotency import IdempotencySettings, OperationName
from workers.policy import load_policy, parse_policy
from workers.policy.file import default_text
from workers.policy.tools.cover import arrivals, longest_outage, lost_share, mean_attempts, median_minutes
from workers.policy.tools.diff import PolicyChange, diff
from workers.policy.tools.lint import lint
from workers.policy.tools.plot import clock, draw

POLICY = load_policy()
CALM = Expectations(
    outage_minutes=(60,),
    mean_attempts=5,
    minutes_to_success=120,
    mean_wait_alarm_minutes=90,
)
WISE = replace(POLICY, limits=RetryLimits(5, 600, 300, 11_520, 2, 20), expectations=CALM)


SEND = OperationName.SUBMIT_CLAIM
RULES_TTL = IdempotencySettings()
LONG_TTL = IdempotencySettings(ttl_hours=48)


def names(policy: Policy, ttl: IdempotencySettings = RULES_TTL) -> list[str]:
    return [advice.name for advice in lint(policy, ttl)]


def findings(policy: Policy, name: str, ttl: IdempotencySettings = RULES_TTL) -> str:
    found = [advice for advice in lint(policy, ttl) if advice.name == name]
    return " ".join(f"{advice.finding} {advice.remedy}" for advice in found)


def simulated(outage: float) -> tuple[float, float]:
    """Lost share and mean retries of survivors, by drawing the waits of 20,000 claims."""
    source, lost, attempts = random.Random(7), 0, []
    for _ in range(20_000):
        time = source.uniform(0, outage) * 60
        for count in range(5):
            time += source.uniform(*window(RetryLimits(), count))
            if time >= outage * 60:
                attempts.append(count + 1)
                break
        else:
            lost += 1
    return lost / 20_000, sum(attempts) / len(attempts)


@pytest.mark.parametrize("outage", [60, 120, 155, 160, 180, 240, 480])
def test_the_closed_forms_agree_with_a_simulation(outage: int) -> None:
    lost, attempts = simulated(outage)
    assert lost_share(RetryLimits(), outage) == pytest.approx(lost, abs=0.01)
    assert mean_attempts(RetryLimits(), outage) == pytest.approx(attempts, abs=0.05)


def test_the_loss_target_breaks_at_156_minutes() -> None:
    assert longest_outage(RetryLimits(), 3) == pytest.approx(156, abs=1)
    assert lost_share(RetryLimits(jitter_percent=0), 155) == 0
    assert lost_share(RetryLimits(jitter_percent=0), 310) == pytest.approx(0.5)


def test_the_median_time_to_success_is_that_of_the_middle_claim() -> None:
    assert median_minutes(RetryLimits(), 60) == pytest.approx(35.5)
    assert median_minutes(RetryLimits(), 120) == pytest.approx(75.5)


def test_arrivals_add_up() -> None:
    last = arrivals(RetryLimits())[-1]
    assert (last.number, last.wait_low, last.wait_high) == (5, 64, 96)
    assert (last.earliest, last.mean, last.latest) == (125, 155.5, 186)


def test_lint_finds_what_is_unwise_about_the_rules_own_numbers() -> None:
    assert names(POLICY) == [
        "unreachable-cap",
        "narrow-first-window",
        "outage-not-covered",
        "target-recovered",
        "target-attempts",
        "target-time",
        "alarm-always-rings",
        "idempotency-too-short",
    ]
    assert "96 min" in findings(POLICY, "unreachable-cap")
    assert "allow 7 retries" in findings(POLICY, "unreachable-cap")
    assert "167 per second" in findings(POLICY, "narrow-first-window")
    assert "240 min loses 35 %" in findings(POLICY, "outage-not-covered")
    assert "up to 156 min" in findings(POLICY, "outage-not-covered")
    assert "65 % after 240 min; target 85 %" in findings(POLICY, "target-recovered")
    assert "32 % success per retry" in findings(POLICY, "target-recovered")
    assert "3.1 for 60 min, 3.9 for 120 min, 4.2 for 240 min" in findings(POLICY, "target-attempts")
    assert "76 min for 120 min" in findings(POLICY, "target-time")
    assert "31.1 min" in findings(POLICY, "alarm-always-rings")
    assert "24 h" in findings(POLICY, "idempotency-too-short")


def test_lint_has_nothing_to_say_about_a_wise_policy() -> None:
    assert names(WISE, LONG_TTL) == []


@pytest.mark.parametrize(
    ("ttl", "found"),
    [(IdempotencySettings(ttl_hours=47), True), (IdempotencySettings(ttl_hours=48), False),
     (IdempotencySettings(ttl_hours=48, ttl_hours_by_operation={SEND: 24}), True),
     (IdempotencySettings(ttl_hours=24, ttl_hours_by_operation={SEND: 48}), False)],
)  # fmt: skip
def test_lint_compares_with_how_long_records_are_really_kept(ttl: IdempotencySettings, found: bool) -> None:
    assert ("idempotency-too-short" in names(WISE, ttl)) is found


def test_lint_asks_for_records_as_long_as_the_retries_reach() -> None:
    far = replace(WISE, limits=RetryLimits(20, 600, 300, 14_400, 2, 20), leaves=frozenset(LimitRule))
    told = findings(far, "idempotency-too-short", LONG_TTL)
    assert "submit_claim is kept 48 h, a claim may be on its way for 67 h" in told
    assert "set IDEMPOTENCY_TTL_HOURS to 67 or more" in told


def test_lint_finds_an_atom() -> None:
    assert "no-jitter" in names(replace(WISE, limits=replace(WISE.limits, jitter_percent=0)))


def test_lint_finds_retries_past_the_deadline() -> None:
    late = replace(WISE, expectations=replace(CALM, resend_window_hours=2))
    assert names(replace(late, limits=replace(WISE.limits, reserve_seconds=0))) == ["past-the-deadline"]


def test_lint_finds_a_reserve_that_leaves_no_retry() -> None:
    greedy = replace(WISE, limits=replace(WISE.limits, reserve_seconds=48 * 3600))
    assert names(greedy, LONG_TTL) == ["reserve-too-long"]
    assert "48 h are kept for a person: no retry fits" in findings(greedy, "reserve-too-long")


def test_lint_finds_words_that_overlap_and_says_who_wins() -> None:
    text = default_text().replace(
        'words = ["NETWORK_ERROR", ', 'words = ["NETWORK_ERROR", "DUPLICATE_CLAIM_CHECK_DOWN", '
    )
    found = findings(parse_policy(text), "overlapping-words")
    assert '"DUPLICATE_CLAIM_CHECK_DOWN" (NETWORK_ERROR) also contains "DUPLICATE_CLAIM"' in found
    assert "DUPLICATE_CLAIM wins" in found


def test_lint_finds_a_permanent_category_without_a_team() -> None:
    text = default_text().replace('team = "OPERATIONS"\nmeaning = "login refused', 'meaning = "login refused')
    found = findings(parse_policy(text), "no-team")
    assert found.startswith("ACCESS_DENIED names no team: its errors reach BILLING_MANAGEMENT")
    assert "no-team" not in names(POLICY)


def test_lint_names_the_payer_whose_limits_are_unwise() -> None:
    own = '[payers.302147]\nleaves = ["BIL-004-V4"]\n[payers.302147.limits]\njitter_percent = 0\n'
    policy = parse_policy(default_text() + own)
    assert "payer 302147: all first retries wait 5 min" in findings(policy, "no-jitter")


def test_equal_policies_have_no_difference() -> None:
    assert diff(POLICY, load_policy()) == ()


def test_diff_tells_settings_waits_and_classes() -> None:
    text = (
        default_text()
        .replace('version = "1"', 'version = "2"')
        .replace("max_retries = 5", "max_retries = 6")
        .replace("leaves = []", 'leaves = ["BIL-004-V1", "BIL-005-V1"]')
        .replace('"TIMED_OUT", ', "")
        .replace('tiss = ["1412"]', "tiss = []")
        .replace('tiss = ["1104", "5042"]', 'tiss = ["1104", "5042", "1412"]')
    )
    changes = diff(POLICY, parse_policy(text))
    assert set(changes) == {
        PolicyChange("version", "1", "2"),
        PolicyChange("leaves", "no rule", "BIL-004-V1, BIL-005-V1"),
        PolicyChange("limits max_retries", "5", "6"),
        PolicyChange("wait before retry 6", None, "128 to 192 min"),
        PolicyChange("entry TIMED_OUT", "transient, TIMEOUT", None),
        PolicyChange("entry TISS:1412", "transient, SERVICE_UNAVAILABLE", "permanent, TOTALS_DIFFER"),
    }


def test_diff_tells_whom_errors_reach_from_now_on() -> None:
    text = default_text().replace('team = "OPERATIONS"\nmeaning = "login refused', 'meaning = "login refused')
    assert diff(POLICY, parse_policy(text)) == (PolicyChange("team of ACCESS_DENIED", "OPERATIONS", None),)


def test_diff_tells_what_changes_for_a_payer() -> None:
    new = parse_policy(default_text() + '[payers.302147]\nalso_transient = ["TISS:5014"]\n')
    assert diff(POLICY, new) == (
        PolicyChange(
            "payer 302147: entry TISS:5014", "permanent, MESSAGE_INVALID", "transient, ALSO_TRANSIENT"
        ),
    )


@pytest.mark.parametrize(
    "limits", [RetryLimits(), RetryLimits(1, 1, 1, 1, 1, 0), RetryLimits(50, 60, 60, 31_536_000, 10, 100)]
)
def test_the_picture_is_well_formed_and_inside_its_frame(limits: RetryLimits) -> None:
    root = ElementTree.fromstring(draw(replace(POLICY, limits=limits)))  # noqa: S314 - our own text
    width = float(root.attrib["width"])
    bars = [bar for bar in root.iter("{http://www.w3.org/2000/svg}rect") if "x" in bar.attrib]
    assert len(bars) == 2 * limits.max_retries + 3 + 5
    assert all(float(bar.attrib["x"]) + float(bar.attrib["width"]) <= width for bar in bars)


def test_the_picture_names_policy_retries_and_outages() -> None:
    picture = draw(POLICY)
    for words in ("Retry 5", "64 to 96", "Outage of 4 h", "35 % of the claims are lost", POLICY.label):
        assert words in picture


@pytest.mark.parametrize(
    ("minutes", "words"), [(0, "0"), (45, "45 min"), (60, "1 h"), (90, "1 h 30"), (125, "2 h 05")]
)
def test_times_are_written_for_people(minutes: int, words: str) -> None:
    assert clock(minutes) == words
