"""`reenvio decide`: JSON shapes, exit codes, and the explanation."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from workers.cli.decide import decide_command
from workers.policy import load_policy
from workers.policy.file import default_text

APP = typer.Typer()
APP.command("decide")(decide_command)
ISSUE = (
    "--claim-id", "CLM-001-123", "--error", "TIMEOUT - Connection timeout after 30s", "--retry-count", "1",
    "--now", "2025-01-12T10:40:00Z",
)  # fmt: skip


def run(*arguments: str, **env: str) -> Result:
    nowhere = {"REENVIO_HOME": "/nowhere", "DATABASE_URL": None}
    return CliRunner().invoke(APP, [*arguments], env={"COLUMNS": "200", **nowhere, **env})


def test_json_of_a_retry_under_rn_bil_004() -> None:
    result = run(*ISSUE, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "shouldRetry": True,
        "nextRetryTime": "2025-01-12T10:49:15Z",
        "retryCount": 2,
        "retryReason": "Retry 2 of 5",
        "backoffMinutes": 9,
        "errorClassification": "TRANSIENT",
        "policyVersion": load_policy().label,
    }


def test_json_of_a_retry_under_rn_bil_005() -> None:
    result = run(*ISSUE, "--json", "--profile", "RN-BIL-005")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["retryReason"] == "Transient error, retry 2 of 5"
    assert answer["originalError"] == "TIMEOUT"
    assert answer["maxRetries"] == 5
    assert answer["policyVersion"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--error", "INVALID_PATIENT_DATA - CPF inválido"), "PERMANENT_ERROR"),
     (("--error", "TIMEOUT", "--retry-count", "5"), "MAX_RETRIES_EXCEEDED"),
     (("--error", "TIMEOUT", "--deadline", "2025-01-12T10:40:00Z"), "MAX_RETRIES_EXCEEDED"),
     (("--error", "x", "--error-code", "TISS:1001"), "PERMANENT_ERROR")],
)  # fmt: skip
def test_json_of_a_bpmn_error_and_exit_3(arguments: tuple[str, ...], code: str) -> None:
    result = run("--claim-id", "CLM-001-123", *arguments, "--json")
    assert result.exit_code == 3
    answer = json.loads(result.stdout)
    assert answer["bpmnError"] == code
    assert answer["responsibleTeam"] == (
        "REGISTRATION" if code == "PERMANENT_ERROR" else "BILLING_MANAGEMENT"
    )
    assert answer["errorClassification"] in ("PERMANENT", "TRANSIENT")
    assert answer["policyVersion"] == load_policy().label
    assert answer["message"]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [(("--claim-id", "X", "--error", "e"), "BIL-004 3.1"),
     (("--claim-id", "CLM-1-1", "--error", ""), "BIL-004-V6"),
     (("--claim-id", "CLM-1-1", "--error", "e", "--retry-count", "-1"), "BIL-004-V5"),
     (("--claim-id", "CLM-1-1", "--error", "e", "--retry-count", "two"), "BIL-004-V5"),
     (("--claim-id", "CLM-1-1", "--error", "e", "--retry-count", "1.5"), "BIL-004-V5"),
     (("--claim-id", "CLM-1-1", "--error", "e", "--now", "noon"), "ISO 8601"),
     (("--claim-id", "CLM-1-1", "--error", "e", "--deadline", "soon"), "BIL-005 10.1"),
     (("--claim-id", "CLM-1-1", "--error", "e", "--header", "maxRetries=x"), "task headers")],
)  # fmt: skip
def test_rejected_input_is_one_line_and_exit_2(arguments: tuple[str, ...], rule: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Rejected: ")
    assert rule in result.stderr
    assert result.stderr.count("\n") == 1
    as_json = run(*arguments, "--json")
    assert as_json.exit_code == 2
    assert json.loads(as_json.stdout)["rule"] == rule


def test_an_unknown_profile_and_a_bad_policy_file_are_rejected(tmp_path: Path) -> None:
    assert 'no profile "X"' in run(*ISSUE, "--profile", "X").stderr
    missing = run(*ISSUE, "--policy", str(tmp_path / "none.toml"))
    assert missing.exit_code == 2
    assert "cannot read" in missing.stderr
    assert json.loads(run(*ISSUE, "--json", "--profile", "X").stdout)["rule"] is None


def test_the_explanation_has_entry_window_jitter_and_formula() -> None:
    result = run(*ISSUE)
    assert result.exit_code == 0
    for words in (
        "Retry 2 of 5, in 9 min",
        "1 < 5 retries allowed",
        '"TIMEOUT" found in the error text',
        "min(5 min x 2^1, 240 min) = 10 min",
        "10 min +- 20 % inside [5, 240] min: 8 min to 12 min",
        'blake2b("CLM-001-123", 1, "1"; key "reenvio") = 0.316659 of the window',
        "480 s + floor(0.316659 x 240 s) = 555 s = 9 min 15 s",
        "= 2025-01-12T10:49:15Z (12/01/2025 07:49:15 America/Sao_Paulo)",
    ):
        assert words in result.stdout


def test_the_explanation_says_what_a_deadline_did() -> None:
    fitted = run(*ISSUE, "--deadline", "2025-01-12T14:47:00Z").stdout
    moved = "Retry 2 of 5, moved up to leave 240 min before the deadline 2025-01-12T14:47:00Z, in 6 min"
    assert moved in fitted
    assert "= 555 s = 9 min 15 s, moved up to 5 min 37 s" in fitted
    assert "2025-01-12T14:47:00Z - 240 min for a person: 7 min left, the shortest wait is 5 min" in fitted
    assert ": 300 s + floor(0.316659 x 120 s) = 337 s" in fitted
    kept = run(*ISSUE, "--deadline", "2025-01-12T15:00:00Z").stdout
    assert "20 min left, the shortest wait is 5 min" in kept
    assert "shortest wait is 5 min:" not in kept
    early = run(*ISSUE, "--deadline", "2025-01-12T12:00:00Z").stdout
    assert "1 < 5 retries allowed" in early
    assert "0 min left" in early


def test_the_explanation_of_a_refusal_and_of_a_guess() -> None:
    permanent = run("--claim-id", "CLM-1-1", "--error", "DUPLICATE_CLAIM")
    assert permanent.exit_code == 3
    assert "throws PERMANENT_ERROR" in permanent.stdout
    exhausted = run("--claim-id", "CLM-1-1", "--error", "TIMEOUT", "--retry-count", "5")
    assert "5 >= 5 retries allowed" in exhausted.stdout
    unknown = run("--claim-id", "CLM-1-1", "--error", "hm [bold]x[/bold]")
    assert "warning UNKNOWN_ERROR" in unknown.stdout
    assert "error   UNKNOWN_ERROR" in unknown.stdout
    assert "hm" not in unknown.stdout


def test_the_header_on_give_up_returns_instead_of_throwing() -> None:
    result = run(
        "--claim-id", "CLM-1-1", "--error", "DUPLICATE_CLAIM", "--json", "--header", "onGiveUp=return"
    )
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["shouldRetry"] is False
    assert answer["errorCode"] == "PERMANENT_ERROR"


def test_a_time_without_a_zone_is_read_in_the_policys_zone() -> None:
    result = run("--claim-id", "CLM-1-1", "--error", "TIMEOUT", "--now", "2025-01-12T07:40:00", "--json")
    assert json.loads(result.stdout)["nextRetryTime"].startswith("2025-01-12T10:4")


def test_without_now_the_answer_is_in_the_future() -> None:
    asked = datetime.now(UTC)
    told = json.loads(run("--claim-id", "CLM-1-1", "--error", "TIMEOUT", "--json").stdout)
    wait = datetime.fromisoformat(told["nextRetryTime"]) - asked
    assert timedelta(minutes=5) <= wait <= timedelta(minutes=7)


def test_a_payers_own_settings_apply(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(default_text() + "[payers.302147.limits]\nmax_retries = 1\n", encoding="utf-8")
    assert run(*ISSUE, "--payer", "302147", POLICY_FILE=str(file)).exit_code == 3
    assert run(*ISSUE, POLICY_FILE=str(file)).exit_code == 0


def test_personal_data_is_not_printed() -> None:
    result = run("--claim-id", "CLM-1-1", "--error", "CPF 529.982.247-25, nome=Maria")
    assert "529" not in result.stdout
    assert "Maria" not in result.stdout


@pytest.mark.parametrize("header", ["nonsense", "=3", " = "])
def test_a_header_without_name_or_sign_is_told_how_to_write_it(header: str) -> None:
    result = run(*ISSUE, "--header", header)
    assert result.exit_code == 2
    assert "Option --header" in result.stderr
    assert "Write NAME=VALUE" in result.stderr


def test_a_deadline_may_be_a_duration_as_for_claim_submit() -> None:
    written = run(*ISSUE, "--deadline", "2025-01-12T14:47:00Z", "--json")
    assert run(*ISSUE, "--deadline", "4h7m", "--json").stdout == written.stdout
    assert json.loads(written.stdout)["backoffMinutes"] == 6
    assert "BIL-005 10.1" in run(*ISSUE, "--deadline", "P99999999D").stderr


def test_a_payer_without_settings_of_its_own_is_told(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(default_text() + "[payers.302147.limits]\nmax_retries = 3\n", encoding="utf-8")
    nobody = run(*ISSUE, "--payer", "nobody", "--json", POLICY_FILE=str(file))
    assert nobody.exit_code == 0
    assert "no settings of its own" in nobody.stderr
    assert json.loads(nobody.stdout)["shouldRetry"] is True
    assert run(*ISSUE, "--payer", "302147", POLICY_FILE=str(file)).stderr == ""
