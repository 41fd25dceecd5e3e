"""A home whose broker and OpenSearch are played by programs that need no Java."""

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import psutil
import pytest

from gateways.zeebe import operate
from gateways.zeebe.engine import EngineConfig, OperateSettings
from gateways.zeebe.engine.ports import is_free

from .support import pids_started

JAR = b"a node"


@dataclass(frozen=True, slots=True)
class Stage:
    """A home whose broker and OpenSearch are played by programs of ours."""

    config: EngineConfig
    camunda: Path
    java: Path

    def plays(self, *, camunda: str = "works", java: str = "works") -> None:
        (self.camunda / "behaviour").write_text(camunda)
        (self.java / "behaviour").write_text(java)

    def seen(self) -> dict[str, str]:
        """The environment that the broker was started with."""
        read: dict[str, str] = json.loads((self.camunda / "environment.json").read_text())
        return read

    def processes(self) -> list[int]:
        """Those that are alive of all that were ever started."""
        started = [folder for folder in (self.camunda, self.java) if (folder / "starts").exists()]
        return [pid for folder in started for pid in pids_started(folder) if psutil.pid_exists(pid)]


@pytest.fixture
def stage(config: EngineConfig, tmp_path: Path) -> Iterator[Stage]:
    config = replace(config, version="8.6.0", java_home=tmp_path / "java")
    distribution = config.cache / "camunda-zeebe-8.6.0"
    for name in ("broker", "camunda"):
        put_program(distribution / "bin" / name, "fake_broker.py")
    put_program(tmp_path / "java" / "bin" / "java", "fake_java.py")
    (distribution / ".complete").write_text("installed by a test")
    (config.cache / "opensearch-2.17.1").mkdir()
    (config.cache / "opensearch-2.17.1" / "node-1.0.jar").write_bytes(JAR)
    pins = tmp_path / "pins.txt"
    pins.write_text(f"org.search:node:1.0 {len(JAR)} {sha256(JAR).hexdigest()}\n")
    config = replace(config, operate=OperateSettings("1m", "1m", own_port(), pins))
    stage = Stage(config, distribution / "bin", tmp_path / "java" / "bin")
    stage.plays()
    yield stage
    operate.stop(stage.config)


def own_port() -> int:
    """A free one that no engine prefers, as OpenSearch takes it."""
    return next(port for port in iter(lambda: random.randrange(6000, 9000), None) if is_free(port))


def put_program(path: Path, source: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{Path(__file__).with_name(source).read_text()}")
    path.chmod(0o755)
