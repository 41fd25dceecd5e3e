"""`reenvio engine` tells everything in plain lines, with exit codes, and never a traceback."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner, Result

from gateways.zeebe.engine import EngineConfig, EngineError, status
from workers.cli.engine import engine_app
from workers.cli.engine_clock import parse_duration


@pytest.fixture
def run(config: EngineConfig, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs `reenvio engine WORDS` on the test's own folders."""
    for name in ("JAVA_HOME", "ENGINE_ARCHIVE", "ENGINE_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGINE_HOME", str(config.home))
    monkeypatch.setenv("ENGINE_CACHE", str(config.cache))
    monkeypatch.setenv("ENGINE_VERSION", config.version)

    def invoke(*words: str, **variables: str) -> Result:
        return CliRunner().invoke(engine_app, list(words), env=variables)

    return invoke


def only_line(result: Result, code: int = 1) -> str:
    assert result.exit_code == code
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_start_status_and_stop_tell_what_they_did(
    run: Callable[..., Result], installed: Callable[[str], Path]
) -> None:
    installed("works")
    assert "is ready at 127.0.0.1:" in run("start").stdout
    assert "is ready (process" in run("status").stdout
    assert run("stop").stdout == "The engine is stopped.\n"
    assert run("stop").stdout == "The engine was not running.\n"
    assert run("status").exit_code == 3


def test_a_second_start_says_that_it_runs_already(
    run: Callable[..., Result], installed: Callable[[str], Path]
) -> None:
    installed("works")
    run("start")
    second = run("start")
    assert second.exit_code == 0
    assert "already running" in second.stdout


def test_no_network_and_an_empty_cache_is_one_line(run: Callable[..., Result]) -> None:
    assert "check the network" in only_line(run("start", ENGINE_MIRROR="http://127.0.0.1:9"))


def test_a_damaged_archive_is_one_line(run: Callable[..., Result], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.tar.gz"
    damaged.write_bytes(b"damaged")
    assert "damaged" in only_line(run("start", ENGINE_VERSION="8.6.0", ENGINE_ARCHIVE=str(damaged)))


def test_a_too_old_java_home_is_one_line(run: Callable[..., Result], tmp_path: Path) -> None:
    java = tmp_path / "java8" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'java version \"1.8.0_411\"' >&2\n")
    java.chmod(0o755)
    assert "unset JAVA_HOME" in only_line(run("start", JAVA_HOME=str(tmp_path / "java8")))


def test_settings_that_do_not_fit_are_one_line(run: Callable[..., Result]) -> None:
    told = only_line(run("start", ENGINE_GRPC_PORT="many", ENGINE_REST_PORT="99999"), code=2)
    assert "ENGINE_GRPC_PORT: " in told
    assert "ENGINE_REST_PORT: " in told


def test_a_dead_broker_shows_its_last_lines_and_then_the_advice(
    run: Callable[..., Result], installed: Callable[[str], Path]
) -> None:
    installed("dies")
    result = run("start")
    lines = result.stderr.splitlines()
    assert result.exit_code == 1
    assert "  | Caused by: the data folder is damaged" in lines
    assert lines[-1].startswith("The engine ended while it was starting")


def test_logs_show_the_last_lines(run: Callable[..., Result], config: EngineConfig) -> None:
    config.log_file.parent.mkdir(parents=True)
    config.log_file.write_text("first\n[bold]second[/bold]\nthird\n")
    assert run("logs", "-n", "2").stdout == "[bold]second[/bold]\nthird\n"


def test_the_clock_is_shown_and_moved(run: Callable[..., Result], installed: Callable[[str], Path]) -> None:
    installed("works")
    run("start")
    assert "the same as the wall clock" in run("clock").stdout
    assert "4:00:00 ahead of the wall clock" in run("clock", "add", "PT4H").stdout
    assert "4:00:00 ahead of the wall clock" in run("clock", "show").stdout


def test_a_moved_clock_goes_on_after_a_restart(
    run: Callable[..., Result], installed: Callable[[str], Path], config: EngineConfig
) -> None:
    installed("works")
    run("start")
    run("clock", "add", "2d")
    engine = status(config)
    assert engine is not None
    psutil.Process(engine.pid).kill()
    psutil.Process(engine.pid).wait(5)
    assert "ahead, as this data folder left it" in run("start").stdout
    assert "2 days, 0:00:00 ahead" in run("clock").stdout


def test_without_an_engine_there_is_no_clock(run: Callable[..., Result]) -> None:
    assert "The engine is not running" in only_line(run("clock"))


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("90m", timedelta(minutes=90)),
        ("4h", timedelta(hours=4)),
        ("1d12h", timedelta(days=1, hours=12)),
        ("PT4H", timedelta(hours=4)),
        ("P1DT30M", timedelta(days=1, minutes=30)),
        ("45s", timedelta(seconds=45)),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize("text", ["", "P", "PT", "4", "-4h", "4 hours", "h", "9" * 30 + "d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(EngineError, match=re.escape(repr(text))):
        parse_duration(text)


# Tests that run in a shell's background inherit an ignored SIGINT.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from workers.cli.engine import engine_app
engine_app()
"""


def test_ctrl_c_during_a_start_leaves_no_broker_and_no_traceback(
    run: Callable[..., Result], installed: Callable[[str], Path], config: EngineConfig
) -> None:
    bin_folder = installed("never ready")
    command = [sys.executable, "-c", INTERRUPTIBLE, "start"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as starting:
        deadline = time.monotonic() + 30
        while not (bin_folder / "starts").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        starting.send_signal(signal.SIGINT)
        _, errors = starting.communicate(timeout=30)
    assert starting.returncode == 130
    assert errors == "Interrupted.\n"
    assert not psutil.pid_exists(int((bin_folder / "starts").read_text()))
    assert status(config) is None
