"""One at a time: a file lock that the system releases even when its holder is killed."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateways.zeebe.engine.reporter import StartReporter


@contextmanager
def exclusive(path: Path, reporter: StartReporter, while_waiting: str) -> Iterator[None]:
    """Hold the lock file at `path`; say `while_waiting` once if somebody else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reporter.info(while_waiting)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
