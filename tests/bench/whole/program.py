"""Programs of the measured system, each a process of its own whose processor time is counted."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import psutil

STOP_SECONDS = 30.0


class ProgramError(Exception):
    """A program that failed; the text has its last words."""


@dataclass(frozen=True, slots=True)
class Program:
    """A Python module with arguments, run in an environment; `cores` ties it to some of the machine's."""

    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    cores: Sequence[int] | None = None

    async def run(self) -> float:
        """Run it to its end; the seconds it took."""
        began = perf_counter()
        process = await self._start()
        if await process.wait() != 0:
            raise ProgramError(f"{self.module} {self.arguments[0]}: {self.last_words()}")
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
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    async def _start(self) -> asyncio.subprocess.Process:
        with self.log.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", self.module, *self.arguments),
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
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTHONPATH") if name in os.environ}


def pin(pid: int, cores: Sequence[int] | None) -> None:
    """Tie a process and its children to some cores."""
    for process in _family(pid) if cores else ():
        process.cpu_affinity(list(cores or ()))


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children so far."""
    times = (process.cpu_times() for process in _family(pid))
    return sum(time.user + time.system for time in times)


def _family(pid: int) -> list[psutil.Process]:
    head = psutil.Process(pid)
    return [head, *head.children(recursive=True)]
