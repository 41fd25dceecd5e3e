"""What Operate's parts keep below the engine's home: OpenSearch's data and settings, a password, a log."""

from dataclasses import dataclass
from pathlib import Path

from gateways.private_folders import private_folder
from gateways.zeebe.engine.config import EngineConfig
from gateways.zeebe.engine.ports import LOCALHOST

CLUSTER = "opensearch"
_NODE = """network.host: {host}
transport.port: {transport}
# a full disk stops the broker by itself; a node that refuses writes would only hide what happens
cluster.routing.allocation.disk.threshold_enabled: false
# one node has all shards to itself: at a start it opens them at once, not four by four
cluster.routing.allocation.node_initial_primaries_recoveries: 100
# the exporter makes indexes for each day, and days pass quickly on a clock that is moved
cluster.max_shards_per_node: 10000
"""
_LOG4J = """status = warn
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = ${sys:opensearch.logs.base_path}/search.log
appender.file.filePattern = ${sys:opensearch.logs.base_path}/search.%i.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %-5p %c{1.} - %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""


@dataclass(frozen=True, slots=True)
class OperateFiles:
    """Where each of them is."""

    config: EngineConfig

    @property
    def folder(self) -> Path:
        return self.config.operate_folder

    @property
    def search_folder(self) -> Path:
        return self.folder / "search"

    @property
    def settings_folder(self) -> Path:
        return self.folder / "settings"

    @property
    def state_file(self) -> Path:
        return self.folder / "search.json"

    @property
    def password_file(self) -> Path:
        return self.folder / "password"

    @property
    def exporter_file(self) -> Path:
        return self.folder / "exporter"


def write_node_settings(files: OperateFiles, transport_port: int) -> None:
    """Give each start a log of its own; the node listens on this machine only."""
    log = files.config.search_log
    for folder in (files.search_folder, files.settings_folder, log.parent):
        private_folder(folder)
    if log.exists():
        log.replace(log.with_name("search.before.log"))
    node = _NODE.format(host=LOCALHOST, transport=transport_port)
    (files.settings_folder / "opensearch.yml").write_text(node)
    (files.settings_folder / "log4j2.properties").write_text(_LOG4J)
