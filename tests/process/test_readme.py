"""The README's commands do what it says, run as a reader would run them."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.command_line import environment

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATIENCE_SECONDS = 120


def blocks() -> list[str]:
    """The shell blocks, in order."""
    return BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.fixture
def reader(tmp_path: Path) -> Mapping[str, str]:
    """A reader's environment, with folders of their own; this run's make is none of a reader's business."""
    outer = environment(tmp_path)
    return {name: value for name, value in outer.items() if not name.startswith("MAKE")}


def run(block: str, reader: Mapping[str, str]) -> str:
    """Run a block; what it printed."""
    done = subprocess.run(
        ["bash", "-euc", block], cwd=ROOT, env=reader, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_readme_has_the_blocks_that_are_proven_here() -> None:
    assert [block.splitlines()[-1].split()[0:2] for block in blocks()] == [
        ["make", "demo"],
        ["make", "test"],  # this very run
        ["reenvio", "policy"],
        ["make", "up"],
        ["reenvio", "claim"],
    ]


def test_make_demo_ends_by_itself_with_every_claim_as_expected(reader: Mapping[str, str]) -> None:
    shown = run(blocks()[0], reader)
    assert "the worker process is killed (-9)" in shown
    assert "Every claim and its fate" in shown
    assert shown.count(" yes") >= 20
    assert "operadora-sul takes claims again" in shown
    assert re.search(r"The mail server: (\d+) of \1 notices arrived", shown)
    assert shown.splitlines()[-1].endswith("none twice.")


def test_the_decision_can_be_asked_without_an_engine(reader: Mapping[str, str]) -> None:
    shown = run(blocks()[2], reader)
    assert "Retry 2 of 5" in shown
    assert '"shouldRetry": true' in shown


def test_make_up_serves_claims_until_it_is_interrupted(reader: Mapping[str, str]) -> None:
    with up(blocks()[3], reader) as log:
        wait_for(lambda: "worker_started" in log.read_text(), "worker_started", log)
        run(blocks()[4], reader)
        wait_for(lambda: "ACCEPTED" in run(blocks()[4], reader), "ACCEPTED", log)
        assert "PRACTICE:" in run(blocks()[4], reader)
    assert "worker_stopped" in log.read_text()
    assert "PRACTICE: no payers are set" in log.read_text()
    assert "MAIL: no mail server is set" in log.read_text()


@contextmanager
def up(block: str, reader: Mapping[str, str]) -> Iterator[Path]:
    """Run a block in a terminal's place: a process group that Ctrl-C reaches as a whole."""
    log = Path(reader["REENVIO_HOME"]) / "up.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-c", block], cwd=ROOT, env=reader, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield log
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(PATIENCE_SECONDS)


def wait_for(condition: Callable[[], bool], what: str, log: Path) -> None:
    """Look until it is so, for two minutes at most."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}; the log says:\n{log.read_text()}"
        time.sleep(0.2)
