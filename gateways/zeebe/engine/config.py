"""Where the embedded engine lives, what it may use, and what a running one looks like."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_VERSION = "8.6.0"


@dataclass(frozen=True, slots=True)
class FixedPorts:
    """Ports asked for by name; None lets the engine choose."""

    grpc: int | None = None
    rest: int | None = None
    management: int | None = None
    command: int | None = None
    internal: int | None = None


@dataclass(frozen=True, slots=True)
class OperateSettings:
    """What Operate's parts may use, where they are asked for: the heaps of Camunda and of OpenSearch.

    `pins` is another list of OpenSearch's files than the packaged one.
    """

    memory: str = "1g"
    search_memory: str = "512m"
    search_port: int | None = None
    pins: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Everything `start` needs to know; `home` holds one broker's data, log and state.

    `settings` are further variables for the broker's own environment, such as exporters.
    """

    home: Path
    cache: Path
    version: str = DEFAULT_VERSION
    archive: Path | None = None
    mirror: str | None = None
    java_home: Path | None = None
    memory: str = "512m"
    ports: FixedPorts = field(default_factory=FixedPorts)
    settings: Mapping[str, str] = field(default_factory=dict)
    program: str = "broker"
    operate: OperateSettings = field(default_factory=OperateSettings)
    ready_seconds: float = 120.0
    stop_seconds: float = 20.0

    @property
    def data_folder(self) -> Path:
        return self.home / "data"

    @property
    def log_file(self) -> Path:
        return self.home / "logs" / "broker.log"

    @property
    def search_log(self) -> Path:
        return self.log_file.with_name("search.log")

    @property
    def log_settings_file(self) -> Path:
        return self.home / "log4j2.xml"

    @property
    def operate_folder(self) -> Path:
        """What Operate keeps; while it is there, the engine of this home runs with Operate."""
        return self.home / "operate"

    @property
    def state_file(self) -> Path:
        return self.home / "engine.json"


@dataclass(frozen=True, slots=True)
class RunningEngine:
    """A broker process of ours, and how to reach it."""

    pid: int
    version: str
    grpc_address: str
    management_url: str
    rest_url: str
