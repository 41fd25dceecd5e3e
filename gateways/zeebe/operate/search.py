"""One OpenSearch node on localhost: started, recognised, waited for and ended."""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from gateways.zeebe.engine.config import EngineConfig
from gateways.zeebe.engine.environment import any_program_needs, java_options
from gateways.zeebe.engine.errors import EngineError
from gateways.zeebe.engine.java import Java
from gateways.zeebe.engine.logs import last_messages
from gateways.zeebe.engine.management import ManagementError, ask
from gateways.zeebe.engine.ports import LOCALHOST, holder_of, is_free
from gateways.zeebe.engine.process import exit_code, listening_ports, listens_on, spawn, terminate
from gateways.zeebe.engine.reporter import StartReporter
from gateways.zeebe.engine.state import same_process
from gateways.zeebe.operate.files import CLUSTER, OperateFiles, write_node_settings
from gateways.zeebe.operate.room import LAST_SEARCH_PORT

_MAIN = "org.codelibs.opensearch.runner.OpenSearchRunner"
# OpenSearch tries every language it knows, and pip's Java is without Thai: ICU among the jars has it
_LANGUAGES = "-Djava.locale.providers=CLDR,SPI"
# no more than Camunda uses
_MODULES = (
    "org.opensearch.analysis.common.CommonAnalysisPlugin",
    "org.opensearch.ingest.common.IngestCommonPlugin",
    "org.opensearch.painless.PainlessPlugin",
    "org.opensearch.index.mapper.MapperExtrasPlugin",
    "org.opensearch.join.ParentJoinPlugin",
    "org.opensearch.index.reindex.ReindexPlugin",
    "org.opensearch.transport.Netty4Plugin",
)
_READY_SECONDS = 300.0
_LOOK_AGAIN_SECONDS = 0.2
_ANSWER_SECONDS = 5.0


class SearchPortLostError(EngineError):
    """Another program took the node's port between our choice and its bind."""


@dataclass(frozen=True, slots=True)
class SearchNode:
    """A node of ours: its process, told by id and birth, and its port."""

    pid: int
    created: float
    port: int

    @property
    def url(self) -> str:
        return f"http://{LOCALHOST}:{self.port}"

    def process(self) -> psutil.Process | None:
        """Its process, if that is still alive."""
        return same_process(self.pid, self.created)


@dataclass(frozen=True, slots=True)
class SearchProgram:
    """What a node is started with: a Java, its files, and the ports for requests and for other nodes."""

    java: Java
    jars: Sequence[Path]
    port: int
    transport_port: int


def launch(config: EngineConfig, program: SearchProgram) -> SearchNode:
    """Start a node on the home's own data; it is on record before anybody waits for it."""
    files = OperateFiles(config)
    write_node_settings(files, program.transport_port)
    environment = any_program_needs(os.environ)
    process = spawn(_command(config, program), environment=environment, log_file=config.search_log)
    node = SearchNode(process.pid, process.create_time(), program.port)
    draft = files.state_file.with_suffix(".new")
    draft.write_text(json.dumps(asdict(node)))
    draft.replace(files.state_file)
    return node


def recorded_node(config: EngineConfig) -> SearchNode | None:
    """The node that was started last, alive or not; an absent, cut off or foreign file counts as none."""
    try:
        raw = json.loads(OperateFiles(config).state_file.read_text())
        return SearchNode(raw["pid"], raw["created"], raw["port"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def live_node(config: EngineConfig) -> SearchNode | None:
    """The node of this home, if it is alive."""
    node = recorded_node(config)
    return node if node and node.process() else None


def is_writable(node: SearchNode) -> bool:
    """Whether it is this node, and no other, that answers on its port and can be written to."""
    process = node.process()
    if process is None or not listens_on(process, [node.port]):
        return False
    try:
        answer = ask(f"{node.url}/_cluster/health", seconds=_ANSWER_SECONDS)
        return answer.is_good and json.loads(answer.body)["status"] in ("yellow", "green")
    except (ManagementError, ValueError, KeyError):
        return False


def wait_for(node: SearchNode, config: EngineConfig, reporter: StartReporter) -> None:
    """Poll the node until it can be written to, with an eye on its process."""
    deadline = time.monotonic() + _READY_SECONDS
    with reporter.waiting("Waiting for OpenSearch", _READY_SECONDS) as tick:
        while not is_writable(node):
            left = deadline - time.monotonic()
            _require_port(node)
            if not node.process():
                _require_free_port(node)
                raise _not_ready(config, f"ended while it was starting{_exit_code(node)}")
            if left <= 0:
                raise _not_ready(config, f"was not ready after {_READY_SECONDS:.0f} s")
            tick(left)
            time.sleep(_LOOK_AGAIN_SECONDS)


def end(config: EngineConfig) -> bool:
    """End the node if it runs; False when there was none."""
    node = recorded_node(config)
    process = node.process() if node else None
    if process:
        terminate(process, config.stop_seconds)
    return process is not None


def _command(config: EngineConfig, program: SearchProgram) -> list[str]:
    files = OperateFiles(config)
    return [
        str(program.java.executable),
        *java_options(config.operate.search_memory, program.java),
        "-XX:+ExitOnOutOfMemoryError",
        _LANGUAGES,
        "-classpath",
        os.pathsep.join(map(str, program.jars)),
        _MAIN,
        *("-clusterName", CLUSTER),
        *("-numOfNode", "1"),
        *("-moduleTypes", ",".join(_MODULES)),
        *("-baseHttpPort", str(program.port - 1)),  # the first node listens one above
        *("-basePath", str(files.search_folder)),
        *("-confPath", str(files.settings_folder)),
        *("-logsPath", str(config.search_log.parent)),
    ]


def _require_port(node: SearchNode) -> None:
    """OpenSearchRunner goes on to the next port when another program was quicker; Camunda does not."""
    process = node.process()
    if process and any(node.port < port <= LAST_SEARCH_PORT for port in listening_ports(process)):
        raise _port_lost(node)


def _require_free_port(node: SearchNode) -> None:
    """A node that ended may have ended because another program had its port a moment earlier."""
    _exit_code(node)
    if not is_free(node.port):
        raise _port_lost(node)


def _port_lost(node: SearchNode) -> SearchPortLostError:
    return SearchPortLostError(
        f"Port {node.port} was taken by {holder_of(node.port)} while OpenSearch was starting: try again, "
        "or stop that first if the engine runs already."
    )


def _exit_code(node: SearchNode) -> str:
    """How a child of ours ended; asking is what lets the system forget it."""
    try:
        code = exit_code(psutil.Process(node.pid))
    except psutil.Error:
        code = None
    return "" if code is None else f" (exit code {code})"


def _not_ready(config: EngineConfig, what: str) -> EngineError:
    return EngineError(
        f"OpenSearch {what}: its last log lines say why; the machine may be busy or short of memory, so try "
        "again; if its data is damaged, `reenvio engine stop`, then start once with --no-operate.",
        log_lines=last_messages(config.search_log),
    )
