"""Memory and ports, looked at before anything is started: what is short is said in one line."""

from pathlib import Path

import psutil

from gateways.zeebe.engine.config import EngineConfig
from gateways.zeebe.engine.errors import EngineError
from gateways.zeebe.engine.memory import megabytes
from gateways.zeebe.engine.ports import insist, is_free

PREFERRED_SEARCH_PORT = 9201
LAST_SEARCH_PORT = 9299
"""OpenSearchRunner takes none above it."""
_BESIDE_THE_HEAPS = 300
"""Two Javas' own megabytes; a heap is seldom full."""
_CGROUP = Path("/sys/fs/cgroup")


def require_memory(config: EngineConfig, available: int) -> None:
    """Refuse a start that the machine has no memory for; `available` is in megabytes."""
    heaps = megabytes(config.operate.memory, "ENGINE_OPERATE_MEMORY")
    heaps += megabytes(config.operate.search_memory, "ENGINE_SEARCH_MEMORY")
    if available < heaps + _BESIDE_THE_HEAPS:
        raise EngineError(
            f"Operate needs about {heaps + _BESIDE_THE_HEAPS} MB of memory and {available} MB are free: "
            "close other programs, set ENGINE_OPERATE_MEMORY and ENGINE_SEARCH_MEMORY lower, or start "
            "without --operate."
        )


def available_megabytes() -> int:
    """What programs started now may use: of the machine, and of the group that we are confined to."""
    free = psutil.virtual_memory().available
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
        numbers = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        free = min(free, limit - used + int(numbers["inactive_file"]))
    except (OSError, ValueError, KeyError):
        pass  # there is no such group, or it has no limit
    return free // 2**20


def search_port(asked: int | None) -> int:
    """The port asked for, else the first free one that OpenSearch takes."""
    if asked is not None:
        return insist(asked, "ENGINE_SEARCH_PORT")
    free = (port for port in range(PREFERRED_SEARCH_PORT, LAST_SEARCH_PORT + 1) if is_free(port))
    port = next(free, None)
    if port is None:
        raise EngineError(
            f"No port from {PREFERRED_SEARCH_PORT} to {LAST_SEARCH_PORT} is free for OpenSearch: stop what "
            "holds them, or name a lower one with ENGINE_SEARCH_PORT."
        )
    return port
