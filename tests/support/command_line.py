"""`reenvio` in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path


def reenvio(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user would, with a home of its own."""
    own = {"REENVIO_HOME": str(home), "ENGINE_HOME": str(home / "engine"), "ZEEBE_ADDRESS": ""}
    return subprocess.run(
        [sys.executable, "-m", "workers.cli", *arguments],
        env=os.environ | own | environment,
        capture_output=True,
        text=True,
        check=False,
    )
