"""The embedded engine as its home has it: the broker alone, or with Operate."""

from enum import StrEnum
from pathlib import Path

from gateways.zeebe import engine


class EnginePart(StrEnum):
    """A process of the embedded engine."""

    BROKER = "broker"
    SEARCH = "search"


def start_engine(
    config: engine.EngineConfig, reporter: engine.StartReporter, *, operate: bool | None = None
) -> engine.RunningEngine:
    """Start what the home has, unless Operate is asked for or no longer wanted."""
    if operate or (operate is None and has_operate(config)):
        from gateways.zeebe.operate import start

        return start(config, reporter)
    if has_operate(config):
        from gateways.zeebe.operate import leave

        leave(config)
    return engine.start(config, reporter)


def stop_engine(config: engine.EngineConfig) -> bool:
    """Stop every part; False when none ran."""
    if has_operate(config):
        from gateways.zeebe.operate import stop

        return stop(config)
    return engine.stop(config)


def has_operate(config: engine.EngineConfig) -> bool:
    """Whether Operate was asked for in this home, and not left since."""
    return config.operate_folder.is_dir()


def log_of(config: engine.EngineConfig, part: EnginePart) -> Path:
    """The log of a part; Operate and Tasklist write into the broker's."""
    return config.search_log if part is EnginePart.SEARCH else config.log_file
