"""A real Zeebe broker on this machine: fetched once, started, watched and stopped."""

from gateways.zeebe.engine.config import EngineConfig, FixedPorts, OperateSettings, RunningEngine
from gateways.zeebe.engine.errors import EngineError
from gateways.zeebe.engine.lifecycle import start, status, stop
from gateways.zeebe.engine.logs import log_tail
from gateways.zeebe.engine.offset import remember_offset
from gateways.zeebe.engine.readiness import is_ready
from gateways.zeebe.engine.reporter import SilentReporter, StartReporter

__all__ = [
    "EngineConfig",
    "EngineError",
    "FixedPorts",
    "OperateSettings",
    "RunningEngine",
    "SilentReporter",
    "StartReporter",
    "is_ready",
    "log_tail",
    "remember_offset",
    "start",
    "status",
    "stop",
]
