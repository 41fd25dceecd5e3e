"""The broker under the benchmark: real, of its own, in a temporary folder."""

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic, perf_counter

import httpx
import psutil

from gateways.zeebe import engine
from gateways.zeebe.engine.ports import choose_ports
from workers.config.settings import read_settings

LOOK_SECONDS = 0.1
COMPLETED = "zeebe_job_events_total"


class StalledError(Exception):
    """A contender did not finish its jobs."""


@dataclass(frozen=True, slots=True)
class BenchBroker:
    """A running broker and its metrics."""

    engine: engine.RunningEngine
    http: httpx.AsyncClient
    home: Path

    async def metrics(self, name: str | None = None) -> str:
        """All metrics, or one by name (which costs the broker next to nothing)."""
        wanted = {"includedNames": name} if name else {}
        answer = await self.http.get(f"{self.engine.management_url}/actuator/prometheus", params=wanted)
        return answer.raise_for_status().text

    def cpu_seconds(self) -> float:
        """User and system time of the broker's process so far."""
        times = psutil.Process(self.engine.pid).cpu_times()
        return times.user + times.system

    async def completed(self, job_type: str) -> int:
        """How many jobs of a type the broker has completed."""
        return completed_in(await self.metrics(COMPLETED), job_type)

    async def wait_completed(self, job_type: str, count: int, patience: float) -> float:
        """Wait for a number of completions; the moment (perf_counter) when they were there."""
        deadline = monotonic() + patience
        while (seen := await self.completed(job_type)) < count:
            if monotonic() > deadline:
                raise StalledError(f"{seen} of {count} jobs completed after {patience:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)
        return perf_counter()


@asynccontextmanager
async def bench_broker(
    reporter: engine.StartReporter, settings: Mapping[str, str] | None = None
) -> AsyncIterator[BenchBroker]:
    """A broker of the benchmark's own; the distribution comes from the shared cache."""
    with tempfile.TemporaryDirectory(prefix="reenvio-bench-") as home:
        config = replace(
            read_settings().engine.config(), home=Path(home), ports=any_ports(), settings=settings or {}
        )
        running = await asyncio.to_thread(engine.start, config, reporter)
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
                yield BenchBroker(running, http, config.home)
        finally:
            await asyncio.to_thread(engine.stop, config)


def any_ports() -> engine.FixedPorts:
    """Five free ports, none of them those that other engines on this machine prefer."""
    return engine.FixedPorts(**asdict(choose_ports(engine.FixedPorts(), None)))


def completed_in(metrics: str, job_type: str) -> int:
    """The completions of a job type in a text of metrics."""
    lines = (line for line in metrics.splitlines() if line.startswith(COMPLETED))
    own = (line for line in lines if 'action="completed"' in line and f'type="{job_type}"' in line)
    return sum(round(float(number)) for line in own for number in re.findall(r"\} (\S+)", line))
