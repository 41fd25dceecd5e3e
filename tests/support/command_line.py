"""`reenvio` as a person runs it: a process of its own, with an environment of the test's choosing."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PATIENCE_SECONDS = 60
ELSEWHERE = ("ZEEBE_ADDRESS", "REDIS_URL")


def environment(home: Path, **given: str) -> Mapping[str, str]:
    """This process's environment without others' engine and queue, with a home and an engine of its own."""
    outer = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    return outer | {"REENVIO_HOME": str(home), "ENGINE_HOME": str(home / "engine")} | given


def reenvio(home: Path, *arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "workers.cli", *arguments],
        env=environment(home, **given),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
