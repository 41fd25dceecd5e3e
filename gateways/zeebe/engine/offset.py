"""How far the broker's clock was moved: it forgets that on a restart, the data folder does not."""

import time
from datetime import timedelta
from pathlib import Path

from gateways.private_folders import private_folder
from gateways.zeebe.engine.config import EngineConfig, RunningEngine
from gateways.zeebe.engine.errors import EngineError
from gateways.zeebe.engine.management import ManagementError, ask

_NOISE = timedelta(seconds=1)
_SECONDS = 5.0


def remember_offset(config: EngineConfig, offset: timedelta) -> None:
    """Keep the offset in the data folder, for the next start on it."""
    path = _path(config)
    private_folder(path.parent)
    draft = path.with_suffix(".new")
    draft.write_text(str(_milliseconds(offset)))
    draft.replace(path)


def remembered_offset(config: EngineConfig) -> timedelta:
    """The offset the data folder was last used with; zero when it never was moved."""
    try:
        return timedelta(milliseconds=int(_path(config).read_text()))
    except (OSError, ValueError):
        return timedelta(0)


def measured_offset(engine: RunningEngine) -> timedelta:
    """How far the running broker's clock is ahead of the wall clock."""
    before = time.time()
    answer = ask(_url(engine), seconds=_SECONDS)
    middle = (before + time.time()) / 2
    offset = timedelta(milliseconds=answer.number("epochMilli") - middle * 1000)
    return offset if abs(offset) >= _NOISE else timedelta(0)


def save_offset(config: EngineConfig, engine: RunningEngine) -> None:
    """Ask the broker before it goes; one that no longer answers keeps what was remembered."""
    try:
        remember_offset(config, measured_offset(engine))
    except (ManagementError, KeyError, ValueError):
        return


def restore_offset(config: EngineConfig, engine: RunningEngine) -> timedelta:
    """Move a fresh broker's clock to where the data folder's clock was; returns by how much."""
    remembered = remembered_offset(config)
    if remembered < _NOISE:
        return timedelta(0)
    try:
        missing = remembered - measured_offset(engine)
        if missing >= _NOISE:
            _add(engine, missing)
            return missing
    except (ManagementError, KeyError, ValueError) as error:
        raise EngineError(
            f"The engine's clock could not be moved {remembered} ahead, where this data folder left it: "
            f"use a version with a controlled clock, or remove {_path(config)}."
        ) from error
    return timedelta(0)


def _add(engine: RunningEngine, offset: timedelta) -> None:
    added = ask(f"{_url(engine)}/add", seconds=_SECONDS, given={"offsetMilli": _milliseconds(offset)})
    if not added.is_good:
        raise ManagementError(f"HTTP {added.status}")


def _url(engine: RunningEngine) -> str:
    return f"{engine.management_url}/actuator/clock"


def _path(config: EngineConfig) -> Path:
    return config.data_folder / "reenvio-clock-offset"


def _milliseconds(offset: timedelta) -> int:
    return offset // timedelta(milliseconds=1)
