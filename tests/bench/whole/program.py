"""Programs of the measured system, each a process of its own."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from tests.bench.cores import pin
from tests.bench.whole import watched

ROOT = Path(__file__).parents[3]
STOP_SECONDS = 30.0
WATCHER = Path(watched.__file__)


class ProgramError(Exception):
    """A program that failed; the text has its last words."""


@dataclass(frozen=True, slots=True)
class Program:
    """A Python module with arguments, run in an environment; `tree` is where its code stands.

    `cores` ties it to some of the machine's; one with `counts` is watched, and profiled where that is asked.
    """

    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    tree: Path = ROOT
    cores: Sequence[int] | None = None
    counts: Path | None = None
    profile: Path | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """The command line, from the interpreter on."""
        if self.counts is None:
            return (sys.executable, "-m", self.module, *self.arguments)
        watcher = (str(WATCHER), str(self.counts), str(self.profile or "-"))
        return (sys.executable, *watcher, self.module, *self.arguments)

    def profiled(self, file: Path | None) -> "Program":
        """The same program, which writes a profile where one is asked for."""
        return replace(self, profile=file)

    def another(self, number: int) -> "Program":
        """The same program beside it, with its own log and its own counts."""
        log, counts = self.log.with_suffix(f".{number}.log"), self.counts
        return replace(self, log=log, counts=counts and counts.with_name(f"{counts.name}-{number}"))

    async def run(self) -> float:
        """Run it to its end; the seconds it took."""
        began = perf_counter()
        process = await self._start()
        if await process.wait() != 0:
            raise ProgramError(f"{self.module} {' '.join(self.arguments[:2])}: {self.last_words()}")
        return perf_counter() - began

    @asynccontextmanager
    async def running(self) -> AsyncIterator[int]:
        """Let it run beside the block; yields its process id."""
        process = await self._start()
        try:
            yield process.pid
        finally:
            await _ended(process)

    def last_words(self) -> str:
        """The last line it wrote."""
        lines = self.lines()
        return lines[-1] if lines else "it said nothing"

    def lines(self) -> list[str]:
        """What it wrote, line by line."""
        return self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()

    async def _start(self) -> asyncio.subprocess.Process:
        if self.counts:
            watched.blank(self.counts)
        with self.log.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                cwd=self.tree,
                env={**_clean_environment(), **self.environment},
                stdout=log,
                stderr=log,
            )
        pin(process.pid, self.cores)
        return process


async def _ended(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


def _clean_environment() -> dict[str, str]:
    """What every program needs, and nothing that would set up another system."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
