"""Start, stop and status of the broker with Operate, Tasklist and their OpenSearch, as one thing."""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from gateways.private_folders import private_folder
from gateways.zeebe import engine
from gateways.zeebe.engine.config import EngineConfig, RunningEngine
from gateways.zeebe.engine.distribution import installed_distribution
from gateways.zeebe.engine.errors import EngineError
from gateways.zeebe.engine.java import find_java
from gateways.zeebe.engine.lifecycle import system_refusals
from gateways.zeebe.engine.locks import exclusive
from gateways.zeebe.engine.ports import any_free
from gateways.zeebe.engine.reporter import SilentReporter, StartReporter
from gateways.zeebe.operate.environment import exporter_name, operate_environment
from gateways.zeebe.operate.files import OperateFiles
from gateways.zeebe.operate.install import installed_search
from gateways.zeebe.operate.room import available_megabytes, require_memory, search_port
from gateways.zeebe.operate.search import (
    SearchNode,
    SearchPortLostError,
    SearchProgram,
    end,
    launch,
    live_node,
    recorded_node,
    wait_for,
)
from gateways.zeebe.operate.status import serves_operate
from gateways.zeebe.operate.users import close_doors, own_password

PROGRAM = "camunda"
_LINE = "8.6."
_READY_SECONDS = 300.0


def start(config: EngineConfig, reporter: StartReporter) -> RunningEngine:
    """Return a broker that serves Operate and Tasklist: the one that runs already, or a new one."""
    with system_refusals():
        _check(config)
        # what is missing is fetched before the lock, so that nobody waits for it who only wants to stop
        jars = installed_search(config, reporter)
        _require_camunda(config, reporter)
        with _parts_lock(config, reporter), _undone_on_failure(config):
            return _serve(config, _ready_node(config, jars, reporter), reporter)


def stop(config: EngineConfig) -> bool:
    """End the broker, then the OpenSearch that it writes to; False when neither ran."""
    with system_refusals(), _parts_lock(config, SilentReporter()):
        broker = engine.stop(config)
        return end(config) or broker


def leave(config: EngineConfig) -> None:
    """Forget Operate: its data would miss what a broker without it does."""
    if engine.status(config):
        raise EngineError(
            "The engine runs with Operate: `reenvio engine stop`, then start with --no-operate."
        )
    stop(config)
    with system_refusals():
        shutil.rmtree(config.operate_folder)


def _check(config: EngineConfig) -> None:
    if not config.version.startswith(_LINE):
        raise EngineError(
            f"Operate comes with Zeebe {_LINE}x here, and ENGINE_VERSION is {config.version}: unset it, or "
            "start without --operate."
        )
    running = engine.status(config)
    if running and not serves_operate(running):
        raise EngineError(
            "The engine runs without Operate: `reenvio engine stop`, then start with --operate."
        )
    if not running and not live_node(config):
        require_memory(config, available_megabytes())


def _require_camunda(config: EngineConfig, reporter: StartReporter) -> None:
    if not (installed_distribution(config, reporter) / "bin" / PROGRAM).is_file():
        raise EngineError(
            f"The archive of Zeebe {config.version} has no bin/{PROGRAM}, so Operate is not in it: unset "
            "ENGINE_ARCHIVE to get the official one, or start without --operate."
        )


def _ready_node(config: EngineConfig, jars: list[Path], reporter: StartReporter) -> SearchNode:
    node = live_node(config) or launch(config, _search_program(config, jars))
    try:
        wait_for(node, config, reporter)
    except SearchPortLostError:
        if engine.status(config):
            raise
        end(config)
        reporter.info("OpenSearch's port was taken meanwhile; starting it again on another one.")
        node = launch(config, _search_program(config, jars))
        wait_for(node, config, reporter)
    return node


def _search_program(config: EngineConfig, jars: list[Path]) -> SearchProgram:
    before = recorded_node(config)
    # a broker that outlived its OpenSearch knows no other address
    asked = before.port if before and engine.status(config) else config.operate.search_port
    port = search_port(asked)
    return SearchProgram(find_java(config.java_home), jars, port, any_free({port}))


def _serve(config: EngineConfig, node: SearchNode, reporter: StartReporter) -> RunningEngine:
    files = OperateFiles(config)
    password = own_password(files)
    settings = operate_environment(node.url, exporter=exporter_name(files), password=password)
    camunda = replace(
        config,
        program=PROGRAM,
        memory=config.operate.memory,
        settings={**config.settings, **settings},
        ready_seconds=max(config.ready_seconds, _READY_SECONDS),
    )
    running = engine.start(camunda, reporter)
    close_doors(node, password)
    return running


@contextmanager
def _undone_on_failure(config: EngineConfig) -> Iterator[None]:
    """What this start began is ended when it does not come to its end, and a first trial leaves no trace."""
    broker, node, known = engine.status(config), live_node(config), config.operate_folder.exists()
    private_folder(config.operate_folder)
    try:
        yield
    except BaseException:
        if not broker:
            engine.stop(config)
        if not node:
            end(config)
        if not known:
            shutil.rmtree(config.operate_folder, ignore_errors=True)
        raise


def _parts_lock(config: EngineConfig, reporter: StartReporter) -> AbstractContextManager[None]:
    private_folder(config.home)
    return exclusive(config.home / "operate.lock", reporter, "Another start is under way; waiting for it.")
