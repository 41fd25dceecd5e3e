"""What the alerts say of the schedule and of their own figures is true."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.alert_rules import ROOT, RULES, Alert, alerts, selectors
from workers.app.telemetry.table import METRICS
from workers.policy import PolicySource
from workers.policy.tools import cover

SAID = {alert.name: alert.annotations["description"] for alert in alerts()}
BOUND = re.compile(r'le=~"([0-9]+)\|([0-9]+)\[\.\]0"')


@pytest.fixture(scope="module")
def waits() -> list[tuple[float, float]]:
    """Shortest and longest wait before each retry of the packaged policy, in minutes."""
    return [(one.wait_low, one.wait_high) for one in cover.arrivals(PolicySource().current().limits)]


def mean_when(failing: float, waits: list[tuple[float, float]]) -> float:
    """The mean wait when this share of the retries fails."""
    weights = [failing**number for number in range(len(waits))]
    return sum(w * (low + high) / 2 for w, (low, high) in zip(weights, waits, strict=True)) / sum(weights)


def test_the_mean_of_the_whole_schedule_is_over_the_alarm(waits: list[tuple[float, float]]) -> None:
    assert f"{mean_when(1, waits):.1f} min" in SAID["ReenvioBackoffMeanLong"]
    assert mean_when(0.96, waits) < 30 < mean_when(0.97, waits)
    assert "97 %" in SAID["ReenvioBackoffMeanLong"]


def test_the_maximum_is_out_of_the_schedules_reach(waits: list[tuple[float, float]]) -> None:
    maximum = PolicySource().current().limits.cap_seconds // 60
    assert f"{waits[-1][1]:.0f} min at most" in SAID["ReenvioBackoffAtMaximum"]
    assert waits[-1][1] < maximum
    assert f"the maximum is {maximum} min" in SAID["ReenvioBackoffAtMaximum"]


def test_only_the_last_wait_is_longer_than_an_hour(waits: list[tuple[float, float]]) -> None:
    assert [high > 60 for _, high in waits] == [False, False, False, False, True]
    assert waits[-1][0] > 60
    assert f"{waits[-1][0]:.0f} to {waits[-1][1]:.0f} min" in SAID["ReenvioLastRetries"]


def test_the_last_waits_are_one_in_twenty_when_half_of_the_retries_fail() -> None:
    share = {failing: failing**4 / sum(failing**number for number in range(5)) for failing in (0.5, 0.6)}
    assert share[0.5] < 0.05 < share[0.6]


def test_what_is_exhausted_is_a_share_of_claims_not_of_decisions(waits: list[tuple[float, float]]) -> None:
    [exhausted] = [alert for alert in alerts() if alert.name == "ReenvioExhausted005"]
    assert {METRICS[one.metric].unit for one in selectors(exhausted.expr)} == {"{claim}"}
    assert f"up to {len(waits) + 1} decisions" in SAID[exhausted.name]
    assert f"up to {sum(high for _, high in waits):.0f} min" in SAID[exhausted.name]


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_a_bound_that_an_alert_counts_by_is_one_of_the_metrics(alert: Alert) -> None:
    distributions = {
        one.metric.removesuffix("_bucket") for one in selectors(alert.expr) if "le" in one.labels
    }
    assert len(BOUND.findall(alert.expr)) == len(re.findall(r"\ble\s*[=!]", alert.expr))
    for name in distributions:
        bounds = {str(bound) for bound in METRICS[name].buckets}
        assert {bound for spellings in BOUND.findall(alert.expr) for bound in spellings} <= bounds


def test_the_configuration_of_the_operators_page_is_one(promtool: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operator.md").read_text(encoding="utf-8")
    found = re.search(r"^    scrape_configs:\n(?:(?:    .*)?\n)+?(?=\n*\|)", page, re.MULTILINE)
    assert found is not None
    text = re.sub(r"^    ", "", found.group(0), flags=re.MULTILINE)
    config = tmp_path / "prometheus.yml"
    config.write_text(text.replace("/etc/prometheus/reenvio", str(RULES[0].parent)), encoding="utf-8")
    command = [promtool, "check", "config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{len(RULES)} rule files found" in done.stdout
