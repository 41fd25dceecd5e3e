"""`reenvio policy`: show, lint, diff, plot, and what they say about bad files."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from workers.cli.policy import policy_app
from workers.policy import load_policy
from workers.policy.file import default_text


def run(*arguments: str, **env: str) -> Result:
    return CliRunner().invoke(policy_app, [*arguments], env={"COLUMNS": "200", **env})


@pytest.fixture
def other(tmp_path: Path) -> Path:
    file = tmp_path / "other.toml"
    text = default_text().replace("max_retries = 5", "max_retries = 4")
    file.write_text(text + "[payers.302147.limits]\nmax_retries = 3\n", encoding="utf-8")
    return file


def test_show_reads_the_policy_aloud(other: Path) -> None:
    shown = run("show")
    assert shown.exit_code == 0
    for words in (
        load_policy().label,
        "5 to 240 min",
        "INVALID_PATIENT_DATA",
        "REGISTRATION",
        "BILLING_MANAGEMENT",
        "OPERATIONS",
        "TISS 1001-1002, 1011",
        "Retry 5",
    ):
        assert words in shown.stdout
    assert "Payer 302147 has its own settings" in run("show", str(other)).stdout


def test_lint_explains_and_is_strict_on_demand() -> None:
    linted = run("lint")
    assert linted.exit_code == 0
    assert "unreachable-cap" in linted.stdout
    assert "is valid; 8 things to think about" in linted.stdout
    assert run("lint", "--strict").exit_code == 1


def test_lint_of_a_wise_policy_says_so(tmp_path: Path) -> None:
    file = tmp_path / "wise.toml"
    text = default_text()
    for old, new in (
        ("base_minutes = 5", "base_minutes = 10"),
        ("max_minutes = 240", "max_minutes = 192"),
        ("[60, 120, 240]", "[60]"),
        ("mean_attempts = 1.2", "mean_attempts = 5"),
        ("minutes_to_success = 60", "minutes_to_success = 120"),
        ("mean_wait_alarm_minutes = 30", "mean_wait_alarm_minutes = 90"),
    ):
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    linted = run("lint", str(file), "--strict", IDEMPOTENCY_TTL_HOURS="48")
    assert linted.exit_code == 0
    assert "nothing to say" in linted.stdout


@pytest.mark.parametrize(
    ("variable", "value", "hours"),
    [("IDEMPOTENCY_TTL_HOURS", "30", 30),
     ("IDEMPOTENCY_TTL_HOURS_BY_OPERATION", '{"submit_claim": 31}', 31)],
)  # fmt: skip
def test_lint_tells_the_ttl_that_is_really_set(variable: str, value: str, hours: int) -> None:
    told = f"the record of submit_claim is kept {hours} h"
    assert told in run("lint", **{variable: value, "LOG_LEVEL": "loud"}).stdout


def test_a_ttl_in_the_policy_file_is_refused_with_the_setting_that_counts(tmp_path: Path) -> None:
    file = tmp_path / "old.toml"
    file.write_text(default_text().replace("resend_window", "idempotency_ttl_hours = 48\nresend_window"))
    linted = run("lint", str(file))
    assert linted.exit_code == 2
    assert "expectations: idempotency_ttl_hours is set by IDEMPOTENCY_TTL_HOURS" in linted.stderr


def test_lint_tells_each_mistake_of_a_bad_file_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(
        default_text().replace("max_retries = 5", "max_retries = 'x'").replace('version = "1"', "")
    )
    linted = run("lint", str(file))
    assert linted.exit_code == 2
    assert len(linted.stderr.splitlines()) == 2
    assert all(line.startswith("Policy rejected: ") for line in linted.stderr.splitlines())


def test_diff_tells_what_changes(other: Path, tmp_path: Path) -> None:
    same = tmp_path / "same.toml"
    same.write_text(default_text(), encoding="utf-8")
    changed = run("diff", str(same), str(other))
    assert changed.exit_code == 1
    assert "limits max_retries" in changed.stdout
    assert "payer 302147" in changed.stdout
    unchanged = run("diff", str(same))
    assert unchanged.exit_code == 0
    assert "No difference." in unchanged.stdout


def test_plot_draws_in_the_terminal_and_as_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "schedule.svg"
    plotted = run("plot", "--output", str(picture))
    assert plotted.exit_code == 0
    assert "Outage 4 h" in plotted.stdout
    assert "35 % lost" in plotted.stdout
    assert picture.read_text(encoding="utf-8").startswith("<svg ")


def test_plot_says_where_it_cannot_write(tmp_path: Path) -> None:
    plotted = run("plot", "--output", str(tmp_path / "none" / "x.svg"))
    assert plotted.exit_code == 2
    assert plotted.stderr.startswith("Cannot write ")
    assert "--output" in plotted.stderr
