"""Every alert fires when it should and is silent when it should be, by Prometheus's own tester."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.alerts.case import Case
from tests.alerts.claim_cases import CLAIM_CASES
from tests.alerts.mail_cases import MAIL_CASES
from tests.alerts.platform_cases import PLATFORM_CASES
from tests.support.alert_rules import RULES, Alert, alerts

CASES = (*CLAIM_CASES, *MAIL_CASES, *PLATFORM_CASES)
USED_LABEL = re.compile(r"\$labels\.(\w+)")


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_such_that_prometheus_reads_them(promtool: str) -> None:
    run(promtool, "check", "rules", *map(str, RULES))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_alert(case: Case, promtool: str, tmp_path: Path) -> None:
    file = tmp_path / "case.yml"
    file.write_text(yaml.safe_dump(case.as_test()), encoding="utf-8")
    run(promtool, "test", "rules", str(file))


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_each_alert_is_seen_firing_and_silent(alert: Alert) -> None:
    assert {case.fires is None for case in CASES if case.alert == alert.name} == {True, False}


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_a_text_names_no_label_that_the_alert_does_not_have(alert: Alert) -> None:
    named = set(USED_LABEL.findall(" ".join(alert.annotations.values())))
    assert [
        case for case in CASES if case.alert == alert.name and not named <= {*(case.fires or named)}
    ] == []


def test_no_case_is_of_an_alert_that_is_gone() -> None:
    assert {case.alert for case in CASES} == {alert.name for alert in alerts()}
