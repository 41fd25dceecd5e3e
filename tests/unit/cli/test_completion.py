"""Shells complete commands, commands of groups and options, although commands are imported when called."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.command_line import environment
from workers.cli.app import build

PROGRAM = Path(sys.executable).with_name("reenvio")


def completed(home: Path, shell: str, **given: str) -> str:
    """What the installed program offers to a shell."""
    asked = environment(home, _REENVIO_COMPLETE=f"complete_{shell}", **given)
    done = subprocess.run([PROGRAM], env=asked, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("reenvio cl", ["claim"]),
        ("reenvio claim s", ["submit", "start", "show"]),
        ("reenvio payer pause --r", ["--reason"]),
        ("reenvio engine clock a", ["add"]),
    ],
)
def test_bash_is_offered_what_fits(tmp_path: Path, typed: str, offered: list[str]) -> None:
    place = str(typed.count(" "))
    assert completed(tmp_path, "bash", COMP_WORDS=typed, COMP_CWORD=place).split() == offered


def test_zsh_is_told_what_a_command_does(tmp_path: Path) -> None:
    told = completed(tmp_path, "zsh", _TYPER_COMPLETE_ARGS="reenvio payer pro")
    assert '"probe":"Do now what the maintenance process does' in told


@pytest.mark.parametrize(("typed", "meant"), [(["clam"], "claim"), (["claim", "sho"], "show")], ids=str)
def test_who_mistypes_a_command_is_told_which_may_be_meant(typed: list[str], meant: str) -> None:
    assert f"Did you mean '{meant}'?" in CliRunner().invoke(build(), typed).output
