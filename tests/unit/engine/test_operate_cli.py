"""`reenvio engine` knows all parts of an engine with Operate, and says nothing of them without."""

import subprocess
import sys
from collections.abc import Callable

import psutil
import pytest
from typer.testing import CliRunner, Result

from gateways.zeebe.engine import EngineConfig
from gateways.zeebe.operate.search import live_node
from workers.cli import engine_broker
from workers.cli.engine import engine_app
from workers.config.engine import EngineSettings

from .operate_stage import Stage

Run = Callable[..., Result]


class StagedSettings(EngineSettings):
    """Settings that name a stage; pins have no variable."""

    staged: EngineConfig

    def config(self) -> EngineConfig:
        return self.staged


@pytest.fixture
def run(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `reenvio engine WORDS` on the stage."""
    monkeypatch.setattr(engine_broker, "read_engine_settings", lambda: StagedSettings(staged=stage.config))
    return lambda *words: CliRunner().invoke(engine_app, list(words))


def test_a_start_says_where_the_pages_are_and_where_the_password_is(run: Run, stage: Stage) -> None:
    told = run("start", "--operate").stdout.replace("\n", "")
    assert "/operate" in told
    assert "/tasklist" in told
    assert f"log in as reenvio, with the password in {stage.config.operate_folder}/password" in told


def test_status_tells_each_part_and_a_dead_one_by_its_exit_code(run: Run, stage: Stage) -> None:
    run("start", "--operate")
    whole = run("status")
    node = live_node(stage.config)
    assert node is not None
    assert whole.exit_code == 0
    assert f"OpenSearch {node.url} (process {node.pid})" in whole.stdout
    psutil.Process(node.pid).kill()
    psutil.Process(node.pid).wait(5)
    assert "OpenSearch is not running" in run("status").stdout
    assert run("status").exit_code == 3


def test_what_was_asked_for_once_is_started_again_without_asking(run: Run, stage: Stage) -> None:
    run("start", "--operate")
    run("stop")
    assert stage.processes() == []
    assert "Operate http" in run("start").stdout
    assert len(stage.processes()) == 2


def test_operate_is_left_by_asking_for_it(run: Run, stage: Stage) -> None:
    run("start", "--operate")
    refused = run("start", "--no-operate")
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
    run("stop")
    assert "Operate" not in run("start", "--no-operate").stdout
    assert "Operate" not in run("status").stdout
    assert len(stage.processes()) == 1


def test_stop_ends_every_part(run: Run, stage: Stage) -> None:
    run("start", "--operate")
    assert run("stop").stdout == "The engine is stopped.\n"
    assert stage.processes() == []
    assert run("stop").stdout == "The engine was not running.\n"


def test_logs_show_the_part_that_is_asked_for(run: Run) -> None:
    run("start", "--operate")
    assert run("logs").stdout == "fake broker starting\n"
    assert run("logs", "--part", "search").stdout == "fake node starting\n"


def test_without_operate_there_is_no_trace_of_it(run: Run, stage: Stage) -> None:
    assert "Operate" not in run("start").stdout
    assert "Operate" not in run("status").stdout
    assert not stage.config.operate_folder.exists()
    assert not list(stage.config.home.rglob("*operate*"))


def test_who_asks_for_no_operate_imports_nothing_of_it() -> None:
    look = (
        "import sys, workers.cli.engine_broker, workers.config.settings;"
        "print([name for name in sys.modules if name.startswith('gateways.zeebe.operate')])"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
