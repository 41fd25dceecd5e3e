"""The demo's worker: a process of its own, so that it can be killed in the middle of a wait."""

import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

STOP_SECONDS = 15


class WorkerProcess:
    """`reenvio work` as a child process in the given environment; its log goes to a file."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self._environment = dict(environment)
        self._log = log
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; Ctrl-C in the terminal is for the demo, not for the child."""
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "workers.cli", "work"],
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill it the hard way (-9)."""
        if self._child is not None:
            self._child.send_signal(signal.SIGKILL)
            self._child.wait()

    def stop(self) -> None:
        """Let it drain, and kill it when it takes too long."""
        if self._child is None:
            return
        self._child.terminate()
        try:
            self._child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    @property
    def exit_code(self) -> int | None:
        """Its exit code when it has ended by itself."""
        return None if self._child is None else self._child.poll()
