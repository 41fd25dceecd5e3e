"""Who plays, and on what."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from tests.bench.whole.program import Program
from tests.bench.whole.stage import Files, Stage


@dataclass(frozen=True, slots=True)
class Ground:
    """A database on a stage, with all that its programs are told, and where they write.

    `job_type` is that of the one job by which a claim is sent.
    """

    stage: Stage
    kind: str
    url: str
    job_type: str
    folder: Path
    environment: Mapping[str, str]

    def log(self, name: str, files: Files) -> Path:
        """Where a program that works on some files writes to."""
        return self.folder / f"{name}-{files.first}.log"


class Desk(Protocol):
    """A running worker that takes files in, one by one."""

    async def hand_in(self, number: int) -> None:
        """Hand in the file of a number."""
        ...

    async def ended(self) -> Mapping[int, datetime]:
        """When each had its protocol, as its own record says."""
        ...


class Contender(Protocol):
    """A way from files to protocols."""

    @property
    def name(self) -> str:
        """As the tables write it."""
        ...

    def ground(self, stage: Stage, kind: str, name: str) -> AbstractAsyncContextManager[Ground]:
        """A database of its own, ready for it."""
        ...

    async def hand_in(self, ground: Ground, files: Files) -> float | None:
        """Let all files wait for a worker that does not run yet; files a second, where that is its work."""
        ...

    def worker(self, ground: Ground, files: Files) -> Program:
        """The program that sends them."""
        ...

    def desk(self, ground: Ground, files: Files) -> AbstractAsyncContextManager[Desk]:
        """The same program, to which files are handed in while it runs."""
        ...
