"""A start that cannot succeed says why in one line and leaves no process behind."""

import json
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from gateways.zeebe.engine import (
    EngineConfig,
    EngineError,
    FixedPorts,
    RunningEngine,
    is_ready,
    start,
    status,
)

from .support import Mirror, Notebook, pids_started, ready_on, until


def test_a_broker_that_dies_at_start_shows_its_last_words(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("dies")
    with pytest.raises(EngineError, match="ended while it was starting") as death:
        start(config, notebook)
    assert death.value.log_lines[-1] == "Caused by: the data folder is damaged"
    assert "\n" not in str(death.value)
    assert status(config) is None


def test_a_broker_that_never_gets_ready_is_stopped(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    bin_folder = installed("never ready")
    with pytest.raises(EngineError, match="was not ready after 1 s"):
        start(replace(config, ready_seconds=1), notebook)
    assert not psutil.pid_exists(pids_started(bin_folder)[0])


def test_ctrl_c_during_a_start_stops_the_half_started_broker(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    bin_folder = installed("never ready")

    def press_ctrl_c() -> None:
        if (bin_folder / "starts").exists():
            raise KeyboardInterrupt

    notebook.on_tick = press_ctrl_c
    with pytest.raises(KeyboardInterrupt):
        start(config, notebook)
    assert not psutil.pid_exists(pids_started(bin_folder)[0])
    assert status(config) is None


@pytest.mark.parametrize("behaviour", ["loses its port once", "gives up once but stays"])
def test_a_port_lost_meanwhile_makes_it_start_again_on_others(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook, behaviour: str
) -> None:
    bin_folder = installed(behaviour)
    assert is_ready(start(config, notebook))
    assert len(pids_started(bin_folder)) == 2


def test_another_program_that_answers_on_the_chosen_port_is_not_taken_for_the_broker(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook, mirror: Mirror
) -> None:
    bin_folder = installed("waits for the test")
    engine: list[RunningEngine] = []
    starting = threading.Thread(target=lambda: engine.append(start(config, notebook)))
    starting.start()
    until((bin_folder / "environment.json").exists)
    port = int(json.loads((bin_folder / "environment.json").read_text())["MANAGEMENT_SERVER_PORT"])
    with ready_on(port, mirror.root):
        (bin_folder / "behaviour").write_text("works")
        starting.join()
    assert engine[0].management_url != f"http://127.0.0.1:{port}"
    assert len(pids_started(bin_folder)) == 2


def test_a_busy_port_that_was_asked_for_is_refused_before_anything_starts(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    bin_folder = installed("works")
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(EngineError, match=f"Port {port} is held by .*process {os.getpid()}"):
            start(replace(config, ports=FixedPorts(management=port)), notebook)
    assert not (bin_folder / "starts").exists()


@pytest.mark.parametrize(("version", "memory"), [("../8.6.0", "512m"), ("latest", "512m"), ("8.6.0", "lots")])
def test_settings_that_make_no_sense_are_refused(
    config: EngineConfig, notebook: Notebook, version: str, memory: str
) -> None:
    with pytest.raises(EngineError, match="write it like"):
        start(replace(config, version=version, memory=memory), notebook)


def test_a_home_that_cannot_be_written_is_one_line_of_advice(
    config: EngineConfig, installed: Callable[[str], Path], notebook: Notebook
) -> None:
    installed("works")
    config.home.write_text("a file where the folder should be")
    with pytest.raises(EngineError, match="correct ENGINE_HOME"):
        start(config, notebook)
    config.home.unlink()
