"""What a start leaves behind so that later commands recognise its broker, and nobody else's process."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from gateways.zeebe.engine.config import RunningEngine
from gateways.zeebe.engine.ports import LOCALHOST, Ports

# create times are derived from the boot time, which moves when the system clock is corrected
_SAME_PROCESS_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class EngineState:
    """A broker process: its id may be reused by the system, its id and birth together are not."""

    pid: int
    created: float
    version: str
    ports: Ports

    def running_engine(self) -> RunningEngine:
        return RunningEngine(
            pid=self.pid,
            version=self.version,
            grpc_address=f"{LOCALHOST}:{self.ports.grpc}",
            management_url=f"http://{LOCALHOST}:{self.ports.management}",
            rest_url=f"http://{LOCALHOST}:{self.ports.rest}",
        )


def write_state(path: Path, state: EngineState) -> None:
    """Replace the state file in one step."""
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(asdict(state), indent=2))
    draft.replace(path)


def read_state(path: Path) -> EngineState | None:
    """The recorded broker; an absent, cut off or foreign file counts as none."""
    try:
        raw = json.loads(path.read_text())
        return EngineState(raw["pid"], raw["created"], raw["version"], Ports(**raw["ports"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def live_process(state: EngineState) -> psutil.Process | None:
    """The recorded process, if it is still that process and still alive."""
    return same_process(state.pid, state.created)


def same_process(pid: int, created: float) -> psutil.Process | None:
    """The process with this id, if it was born at that time and is alive."""
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - created) < _SAME_PROCESS_SECONDS
        alive = process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return None
    return process if same and alive else None
