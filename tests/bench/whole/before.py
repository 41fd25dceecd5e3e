"""Another revision's code, beside ours."""

import io
import subprocess
import tarfile
from pathlib import Path

from tests.bench.whole.program import ROOT, ProgramError


def unpack(revision: str, folder: Path) -> str:
    """Put a revision's files into a folder; its short name. The repository stays as it is."""
    name = _git("rev-parse", "--short", f"{revision}^{{commit}}").decode().strip()
    with tarfile.open(fileobj=io.BytesIO(_git("archive", name))) as archive:
        archive.extractall(folder, filter="data")
    return name


def _git(*words: str) -> bytes:
    done = subprocess.run(("git", "-C", str(ROOT), *words), capture_output=True, check=False)
    if done.returncode:
        raise ProgramError(f"git {' '.join(words)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
