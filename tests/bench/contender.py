"""A contender: a worker program in a process of its own, told line by line what to serve."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import IO, TypeVar

import psutil

from tests.bench.cores import pin
from tests.bench.names import Name

PipeT = TypeVar("PipeT")
READY_SECONDS = 60.0
STOP_SECONDS = 15.0


class ContenderError(Exception):
    """A contender that does not work; one line says why."""


@dataclass(frozen=True, slots=True)
class Contender:
    """How to start it, and on which cores; a slow one gets fewer jobs, so that a round ends."""

    name: Name
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    slow: bool = False
    cores: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class RunningContender:
    """The process: serves one more job type at each line, answers `serving TYPE`, ends with its input."""

    contender: Contender
    process: asyncio.subprocess.Process
    errors: IO[bytes]

    async def serve(self, job_type: str) -> None:
        """Let it take jobs of a type from now on."""
        _pipe(self.process.stdin).write(f"{job_type}\n".encode())
        answer = await asyncio.wait_for(_pipe(self.process.stdout).readline(), READY_SECONDS)
        if answer.decode().strip() != f"serving {job_type}":
            raise ContenderError(f"{self.contender.name} did not start to serve: {self.last_words()}")

    def last_words(self) -> str:
        """The last line it wrote to its standard error."""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def cpu_seconds(self) -> float:
        """User and system time of the process so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system

    async def stop(self) -> None:
        """Close its input; kill it when it does not end."""
        _pipe(self.process.stdin).close()
        try:
            await asyncio.wait_for(self.process.wait(), STOP_SECONDS)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


@asynccontextmanager
async def running_contender(contender: Contender) -> AsyncIterator[RunningContender]:
    """Start a contender; it is gone when the block ends."""
    with tempfile.TemporaryFile() as errors:
        process = await asyncio.create_subprocess_exec(
            *contender.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env=os.environ | contender.environment,
        )
        pin(process.pid, contender.cores)
        running = RunningContender(contender, process, errors)
        try:
            yield running
        finally:
            await running.stop()


def _pipe(pipe: PipeT | None) -> PipeT:
    assert pipe is not None
    return pipe
