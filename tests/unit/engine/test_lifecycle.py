"""One broker per home folder, whatever happens to the commands that start and stop it."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from gateways.zeebe.engine import (
    EngineConfig,
    RunningEngine,
    is_ready,
    log_tail,
    remember_offset,
    start,
    status,
    stop,
)
from gateways.zeebe.engine.offset import measured_offset, remembered_offset
from gateways.zeebe.engine.state import read_state, write_state

from .support import Notebook, pids_started, until

NEARLY = timedelta(seconds=1)
START_IN_ANOTHER_PROCESS = """
from pathlib import Path
from gateways.zeebe.engine import EngineConfig, SilentReporter, start
start({config}, SilentReporter())
"""


def test_a_started_engine_is_ready_and_known(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("works")
    engine = start(config, notebook)
    assert is_ready(engine)
    assert status(config) == engine
    assert engine.grpc_address.startswith("127.0.0.1:")


def test_a_start_makes_folders_for_their_owner_only(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("works")
    home, before = config.home / "deeper" / "engine", os.umask(0o022)
    try:
        start(replace(config, home=home), notebook)
    finally:
        os.umask(before)
        stop(replace(config, home=home))
    assert [folder.stat().st_mode & 0o777 for folder in (home.parent, home)] == [0o700] * 2


def test_starting_twice_gives_the_same_engine_and_says_so(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    bin_folder = installed("works")
    engine = start(config, notebook)
    assert start(config, notebook) == engine
    assert len(pids_started(bin_folder)) == 1
    assert any("already running" in line for line in notebook.said)


def test_two_starts_at_once_give_one_broker(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    bin_folder = installed("works")
    engines: list[RunningEngine] = []
    both = [threading.Thread(target=lambda: engines.append(start(config, notebook))) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert len(pids_started(bin_folder)) == 1
    assert engines[0] == engines[1]
    assert any("already running" in line for line in notebook.said)


def test_stopping_ends_the_process_and_stopping_again_is_harmless(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("works")
    engine = start(config, notebook)
    assert stop(config) is True
    assert not psutil.pid_exists(engine.pid)
    assert status(config) is None
    assert stop(config) is False


def test_stopping_where_nothing_ever_ran_leaves_no_trace(config: EngineConfig) -> None:
    assert stop(config) is False
    assert not config.home.exists()


def test_a_broker_that_ignores_the_request_to_end_is_ended(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("ignores SIGTERM")
    engine = start(config, notebook)
    assert stop(replace(config, stop_seconds=0.2)) is True
    assert not psutil.pid_exists(engine.pid)


def test_the_broker_runs_in_a_session_of_its_own(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("works")
    assert os.getsid(start(config, notebook).pid) != os.getsid(0)


def test_a_broker_left_by_a_killed_start_is_taken_over(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    bin_folder = installed("never ready")
    folders = f"home=Path({str(config.home)!r}), cache=Path({str(config.cache)!r})"
    words = f"EngineConfig({folders}, version={config.version!r})"
    with subprocess.Popen([sys.executable, "-c", START_IN_ANOTHER_PROCESS.format(config=words)]) as other:
        until(lambda: status(config) is not None)
        other.kill()
    (bin_folder / "behaviour").write_text("works")
    assert [start(config, notebook).pid] == pids_started(bin_folder)


def test_a_stale_state_file_does_not_stop_a_start(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("works")
    first = start(config, notebook)
    psutil.Process(first.pid).kill()
    psutil.Process(first.pid).wait(5)
    assert config.state_file.exists()
    assert status(config) is None
    assert start(config, notebook).pid != first.pid


def test_a_reused_process_id_is_not_taken_for_the_engine_nor_stopped(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("works")
    start(config, notebook)
    state = read_state(config.state_file)
    assert state is not None
    stop(config)
    with subprocess.Popen(["sleep", "60"]) as stranger:
        write_state(config.state_file, replace(state, pid=stranger.pid, created=state.created - 60))
        assert status(config) is None
        assert stop(config) is False
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', "null"])
def test_a_damaged_state_file_counts_as_none(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook, content: str
) -> None:
    installed("works")
    config.home.mkdir()
    config.state_file.write_text(content)
    assert status(config) is None


def test_the_clocks_offset_outlives_a_stop(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("works")
    remember_offset(config, timedelta(hours=4))
    engine = start(config, notebook)
    assert abs(measured_offset(engine) - timedelta(hours=4)) < NEARLY
    stop(config)
    assert abs(remembered_offset(config) - timedelta(hours=4)) < NEARLY


def test_the_clocks_offset_outlives_a_killed_broker(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("works")
    engine = start(config, notebook)
    remember_offset(config, timedelta(days=2))
    psutil.Process(engine.pid).kill()
    psutil.Process(engine.pid).wait(5)
    assert abs(measured_offset(start(config, notebook)) - timedelta(days=2)) < NEARLY


def test_the_broker_sees_none_of_our_secrets(
    config: EngineConfig,
    installed: Callable[[str], Path],
    notebook: Notebook,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bin_folder = installed("works")
    monkeypatch.setenv("ZEEBE_CLIENT_SECRET", "hidden")
    monkeypatch.setenv("SERVER_ADDRESS", "0.0.0.0")  # noqa: S104
    start(config, notebook)
    seen = json.loads((bin_folder / "environment.json").read_text())
    assert "ZEEBE_CLIENT_SECRET" not in seen
    assert seen["SERVER_ADDRESS"] == "127.0.0.1"


def test_the_log_keeps_what_the_broker_says(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("works")
    start(config, notebook)
    assert log_tail(config, 5) == ["fake broker starting"]
