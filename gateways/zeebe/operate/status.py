"""What of Operate is there: where its pages are, who may come in, and what is wrong with it."""

from dataclasses import dataclass
from pathlib import Path

import psutil

from gateways.zeebe.engine.config import EngineConfig, RunningEngine
from gateways.zeebe.engine.logs import tail_of
from gateways.zeebe.operate.files import OperateFiles
from gateways.zeebe.operate.search import live_node
from gateways.zeebe.operate.users import USER

_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"


@dataclass(frozen=True, slots=True)
class OperateStatus:
    """Lines for people, and whether all parts are alive."""

    lines: tuple[str, ...]
    is_whole: bool


def serves_operate(running: RunningEngine) -> bool:
    """Whether the broker's process was started with Operate and Tasklist in it."""
    try:
        words = psutil.Process(running.pid).cmdline()
    except psutil.Error:
        return False
    return any(word == "-Dapp.name=camunda" or Path(word).name == "camunda" for word in words)


def operate_status(config: EngineConfig, running: RunningEngine | None) -> OperateStatus:
    """What `reenvio engine status` adds for a home with Operate."""
    node = live_node(config)
    search = f"OpenSearch {node.url} (process {node.pid})" if node else _ended(config)
    return OperateStatus((*_pages(config, running), search), is_whole=bool(running and node))


def _pages(config: EngineConfig, running: RunningEngine | None) -> tuple[str, ...]:
    if running is None:
        return (_why_not(config),) if _is_out_of_memory(config.log_file) else ()
    return (
        f"Operate {running.rest_url}/operate",
        f"Tasklist {running.rest_url}/tasklist",
        f"log in as {USER}, with the password in {OperateFiles(config).password_file}",
    )


def _why_not(config: EngineConfig) -> str:
    more = f"set ENGINE_OPERATE_MEMORY above {config.operate.memory}"
    return f"It ran out of memory: {more} before it starts again."


def _ended(config: EngineConfig) -> str:
    if _is_out_of_memory(config.search_log):
        more = f"set ENGINE_SEARCH_MEMORY above {config.operate.search_memory}, then"
        return f"OpenSearch ran out of memory: {more} `reenvio engine start` starts it again."
    return (
        "OpenSearch is not running: `reenvio engine start` starts it again, and Operate then shows what "
        "happened meanwhile; `reenvio engine logs --part search` may say why."
    )


def _is_out_of_memory(log: Path) -> bool:
    return any(_OUT_OF_MEMORY in line for line in tail_of(log, 200))
