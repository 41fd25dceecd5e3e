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
READY_SECONDS = 600.0
JOB_EVENTS = "zeebe_job_events_total"
QUICK = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""For a broker that lives for minutes: its Java's second compiler takes more than it gives back."""


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
        return await self.jobs(job_type, "completed")

    async def jobs(self, job_type: str, action: str) -> int:
        """How many jobs of a type something has happened to, by the broker's word for it."""
        return jobs_in(await self.metrics(JOB_EVENTS), job_type, action)

    async def wait_completed(self, job_type: str, count: int, patience: float) -> float:
        """Wait for a number of completions; the moment (perf_counter) when they were there."""
        return await self.wait_jobs(job_type, "completed", count, patience)

    async def wait_jobs(self, job_type: str, action: str, count: int, patience: float) -> float:
        """Wait until something has happened to so many jobs of a type; the moment when it had."""
        deadline = monotonic() + patience
        while (seen := await self.jobs(job_type, action)) < count:
            if monotonic() > deadline:
                raise StalledError(f"{seen} of {count} jobs {action} after {patience:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)
        return perf_counter()

    async def wait_steadily(self, job_type: str, count: int, still: float) -> float:
        """Wait for a number of completions for as long as there are new ones; the moment of the last."""
        seen, since = -1, monotonic()
        while (now := await self.completed(job_type)) < count:
            if now > seen:
                seen, since = now, monotonic()
            elif monotonic() - since > still:
                raise StalledError(f"{count - seen} jobs are left, and none was completed for {still:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)
        return perf_counter()


@asynccontextmanager
async def bench_broker(
    reporter: engine.StartReporter, settings: Mapping[str, str] | None = None
) -> AsyncIterator[BenchBroker]:
    """A broker of the benchmark's own; the distribution comes from the shared cache."""
    with tempfile.TemporaryDirectory(prefix="reenvio-bench-") as home:
        config = replace(
            read_settings().engine.config(),
            home=Path(home),
            ports=any_ports(),
            settings=settings or {},
            ready_seconds=READY_SECONDS,
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


def jobs_in(metrics: str, job_type: str, action: str) -> int:
    """How many jobs of a type something has happened to, in a text of metrics."""
    lines = (line for line in metrics.splitlines() if line.startswith(JOB_EVENTS))
    own = (line for line in lines if f'action="{action}"' in line and f'type="{job_type}"' in line)
    return sum(round(float(number)) for line in own for number in re.findall(r"\} (\S+)", line))
