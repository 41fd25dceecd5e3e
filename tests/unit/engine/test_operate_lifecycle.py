"""The broker, Operate and OpenSearch are one engine: started, joined, mended and stopped together."""

import json
import os
from dataclasses import replace

import psutil
import pytest

from gateways.zeebe import engine, operate
from gateways.zeebe.engine import EngineConfig, EngineError, OperateSettings, RunningEngine
from gateways.zeebe.operate.search import live_node
from gateways.zeebe.operate.users import spring_hash

from .operate_stage import Stage
from .support import Notebook


def kill(pid: int) -> None:
    psutil.Process(pid).kill()
    psutil.Process(pid).wait(5)


def search_pid(config: EngineConfig) -> int:
    node = live_node(config)
    assert node is not None
    return node.pid


def lines(config: EngineConfig, running: RunningEngine | None) -> str:
    return "\n".join(operate.operate_status(config, running).lines)


def refusal(config: EngineConfig, notebook: Notebook) -> str:
    with pytest.raises(EngineError) as refused:
        operate.start(config, notebook)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_start_brings_up_both_and_a_stop_leaves_no_process(stage: Stage, notebook: Notebook) -> None:
    running = operate.start(stage.config, notebook)
    assert engine.status(stage.config) == running
    assert sorted(stage.processes()) == sorted([running.pid, search_pid(stage.config)])
    assert operate.stop(stage.config) is True
    assert stage.processes() == []
    assert operate.stop(stage.config) is False


def test_a_second_start_joins(stage: Stage, notebook: Notebook) -> None:
    first = operate.start(stage.config, notebook)
    assert operate.start(stage.config, notebook) == first
    assert len(stage.processes()) == 2


def test_the_broker_is_told_where_opensearch_is_and_spring_its_own_ports(
    stage: Stage, notebook: Notebook
) -> None:
    operate.start(stage.config, notebook)
    node, seen = live_node(stage.config), stage.seen()
    assert node is not None
    assert seen["CAMUNDA_OPERATE_OPENSEARCH_URL"] == seen["CAMUNDA_TASKLIST_OPENSEARCH_URL"] == node.url
    assert seen["CAMUNDA_OPERATE_ZEEBE_GATEWAYADDRESS"] == "127.0.0.1:${ZEEBE_BROKER_GATEWAY_NETWORK_PORT}"
    assert "-Xmx1m" in seen["JAVA_OPTS"]


def test_opensearch_sees_none_of_our_secrets_and_only_pinned_files(
    stage: Stage, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZEEBE_CLIENT_SECRET", "hidden")
    (stage.config.cache / "opensearch-2.17.1" / "foreign.jar").write_bytes(b"foreign")
    operate.start(stage.config, notebook)
    command = json.loads((stage.java / "command.json").read_text())
    assert command[command.index("-classpath") + 1].endswith("opensearch-2.17.1/node-1.0.jar")
    assert "hidden" not in str(psutil.Process(search_pid(stage.config)).environ())


def test_our_user_has_a_password_of_its_own_that_only_the_owner_reads(
    stage: Stage, notebook: Notebook
) -> None:
    running = operate.start(stage.config, notebook)
    file = operate.OperateFiles(stage.config).password_file
    assert file.stat().st_mode & 0o777 == 0o600
    assert stage.seen()["CAMUNDA_OPERATE_PASSWORD"] == file.read_text().strip() != ""
    assert file.read_text().strip() not in lines(stage.config, running)
    assert str(file) in lines(stage.config, running)


def test_nobody_comes_in_by_a_password_that_everybody_knows(stage: Stage, notebook: Notebook) -> None:
    operate.start(stage.config, notebook)
    hashes = json.loads((stage.java / "passwords.json").read_text())["script"]["params"]
    password = operate.OperateFiles(stage.config).password_file.read_text().strip()
    assert set(hashes) == {"reenvio", "demo", "act", "view"}
    for name, known in (("reenvio", password), ("act", "act"), ("view", "view"), ("demo", "demo")):
        salt = bytes.fromhex(hashes[name].partition("}")[2])[:16]
        assert (hashes[name] == spring_hash(known, salt)) is (name == "reenvio")


def test_a_dead_opensearch_is_told_and_started_again_where_the_broker_looks_for_it(
    stage: Stage, notebook: Notebook
) -> None:
    running = operate.start(stage.config, notebook)
    before = live_node(stage.config)
    assert before is not None
    kill(before.pid)
    assert "OpenSearch is not running: `reenvio engine start`" in lines(stage.config, running)
    assert not operate.operate_status(stage.config, running).is_whole
    assert operate.start(stage.config, notebook) == running
    after = live_node(stage.config)
    assert after is not None
    assert (after.pid != before.pid, after.port) == (True, before.port)


def test_a_dead_broker_is_started_again_on_the_same_opensearch(stage: Stage, notebook: Notebook) -> None:
    before, node = operate.start(stage.config, notebook), search_pid(stage.config)
    kill(before.pid)
    assert not operate.operate_status(stage.config, None).is_whole
    assert operate.start(stage.config, notebook).pid != before.pid
    assert search_pid(stage.config) == node


@pytest.mark.parametrize(
    ("camunda", "java", "told"),
    [
        ("dies", "works", "The engine ended while it was starting"),
        ("works", "dies", "OpenSearch ended while it was starting"),
        ("works", "loses its port", "was taken by"),
        ("works", "has no users", "could not be given passwords"),
    ],
)
def test_a_start_that_fails_leaves_no_process_and_a_home_without_operate(
    stage: Stage, notebook: Notebook, camunda: str, java: str, told: str
) -> None:
    stage.plays(camunda=camunda, java=java)
    assert told in refusal(stage.config, notebook)
    assert stage.processes() == []
    assert not stage.config.operate_folder.exists()


def test_a_port_lost_meanwhile_makes_opensearch_start_again(stage: Stage, notebook: Notebook) -> None:
    stage.plays(java="loses its port once")
    running = operate.start(stage.config, notebook)
    assert operate.operate_status(stage.config, running).is_whole
    assert len(stage.processes()) == 2
    assert any("taken meanwhile" in line for line in notebook.said)


def test_a_failed_start_keeps_what_an_earlier_one_wrote(stage: Stage, notebook: Notebook) -> None:
    operate.start(stage.config, notebook)
    operate.stop(stage.config)
    stage.plays(camunda="dies")
    refusal(stage.config, notebook)
    assert stage.processes() == []
    assert operate.OperateFiles(stage.config).password_file.exists()


@pytest.mark.parametrize(("camunda", "java"), [("never ready", "works"), ("works", "never ready")])
def test_ctrl_c_during_a_start_leaves_nothing_running(
    stage: Stage, notebook: Notebook, camunda: str, java: str
) -> None:
    stage.plays(camunda=camunda, java=java)
    awaited = stage.camunda if camunda == "never ready" else stage.java

    def press_ctrl_c() -> None:
        if (awaited / "starts").exists():
            raise KeyboardInterrupt

    notebook.on_tick = press_ctrl_c
    with pytest.raises(KeyboardInterrupt):
        operate.start(stage.config, notebook)
    assert stage.processes() == []


def test_an_opensearch_that_ran_out_of_memory_says_which_setting_to_raise(
    stage: Stage, notebook: Notebook
) -> None:
    running = operate.start(stage.config, notebook)
    kill(search_pid(stage.config))
    stage.config.search_log.write_text("Terminating due to java.lang.OutOfMemoryError: Java heap space\n")
    assert "set ENGINE_SEARCH_MEMORY above 1m" in lines(stage.config, running)


def test_a_broker_that_runs_without_operate_is_not_joined(stage: Stage, notebook: Notebook) -> None:
    engine.start(stage.config, notebook)
    assert "runs without Operate: `reenvio engine stop`" in refusal(stage.config, notebook)
    assert not stage.config.operate_folder.exists()


def test_too_little_memory_is_refused_before_anything_starts(stage: Stage, notebook: Notebook) -> None:
    config = replace(stage.config, operate=replace(stage.config.operate, memory="9000g"))
    told = refusal(config, notebook)
    assert "MB are free" in told
    assert "ENGINE_OPERATE_MEMORY" in told
    assert not (stage.java / "starts").exists()


@pytest.mark.parametrize("sizes", [OperateSettings("lots"), OperateSettings("1m", "lots")])
def test_a_size_that_is_none_is_refused(stage: Stage, notebook: Notebook, sizes: OperateSettings) -> None:
    assert "write it like 512m or 1g" in refusal(replace(stage.config, operate=sizes), notebook)


def test_another_line_of_camunda_is_refused(stage: Stage, notebook: Notebook) -> None:
    assert "Operate comes with Zeebe 8.6.x" in refusal(replace(stage.config, version="8.8.1"), notebook)


def test_an_archive_without_operate_is_named(stage: Stage, notebook: Notebook) -> None:
    (stage.camunda / "camunda").unlink()
    assert "has no bin/camunda" in refusal(stage.config, notebook)


def test_leaving_operate_removes_its_data_and_a_new_beginning_exports_all_again(
    stage: Stage, notebook: Notebook
) -> None:
    operate.start(stage.config, notebook)
    first = exporters(stage)
    operate.stop(stage.config)
    operate.start(stage.config, notebook)
    assert exporters(stage) == first
    operate.stop(stage.config)
    operate.leave(stage.config)
    assert not stage.config.operate_folder.exists()
    operate.start(stage.config, notebook)
    assert exporters(stage) != first


def exporters(stage: Stage) -> set[str]:
    return {name for name in stage.seen() if name.endswith("_CLASSNAME")}


def test_a_running_operate_is_not_left(stage: Stage, notebook: Notebook) -> None:
    operate.start(stage.config, notebook)
    with pytest.raises(EngineError, match="runs with Operate"):
        operate.leave(stage.config)
    assert len(stage.processes()) == 2


def test_operates_folder_is_for_its_owner_only(stage: Stage, notebook: Notebook) -> None:
    before = os.umask(0o022)
    try:
        operate.start(stage.config, notebook)
    finally:
        os.umask(before)
    assert stage.config.operate_folder.stat().st_mode & 0o777 == 0o700
