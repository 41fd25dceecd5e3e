"""`reenvio payer pause --until` takes what `--deadline` takes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.command_line import reenvio
from tests.support.payers_file import payers_file

PAYERS = '[payers.999999]\nendpoint = "https://payer.example"\nversion = "4.03.00"\n'


def pause(home: Path, until: str) -> tuple[int, str]:
    settings = {"PAYERS_FILE": str(payers_file(home, PAYERS)), "ZEEBE_ADDRESS": "localhost:1"}
    reenvio(home, "migrate")
    done = reenvio(home, "payer", "pause", "999999", "--reason", "x", "--until", until, **settings)
    return done.returncode, " ".join((done.stdout + done.stderr).replace("│", " ").split())


def test_a_duration_is_understood(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    code, said = pause(tmp_path, "4h")
    assert code == 0, said
    end = datetime.fromisoformat(said.split("is paused until ")[1].split(".")[0])
    assert timedelta(hours=4) - timedelta(seconds=1) <= end - before <= timedelta(hours=4, minutes=2)


def test_a_time_without_offset_is_read_in_the_policys_zone(tmp_path: Path) -> None:
    code, said = pause(tmp_path, "2099-01-12T18:00")
    assert code == 0, said
    end = datetime.fromisoformat(said.split("is paused until ")[1].split(".")[0])
    assert end == datetime(2099, 1, 12, 21, tzinfo=UTC)


@pytest.mark.parametrize("until", ["soon", "2020-01-12T18:00:00-03:00"])
def test_anything_else_is_a_bad_argument_that_says_the_form(tmp_path: Path, until: str) -> None:
    code, said = pause(tmp_path, until)
    assert (code, "--until" in said) == (2, True), said
    assert "48h, or a moment such as" in said or "not in the future" in said


@pytest.mark.parametrize("order", ["pause", "trip"])
def test_a_payer_is_held_also_while_no_engine_runs(tmp_path: Path, order: str) -> None:
    payers = str(payers_file(tmp_path, PAYERS))
    reenvio(tmp_path, "migrate")
    done = reenvio(tmp_path, "payer", order, "999999", "--reason", "x", PAYERS_FILE=payers)
    assert done.returncode == 0, done.stderr
    shown = reenvio(tmp_path, "payer", "show", "999999", PAYERS_FILE=payers).stdout
    assert "by an operator: x" in shown
