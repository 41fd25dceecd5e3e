"""One contender in one round: a folder sent to its last claim, then single files at a steady pace.

What is counted begins at the last look (twenty a second) that saw the broker give out no job of the round,
and ends when the last is completed. No claim was begun before and none is under way after, so pace, processor
time, commits and HTTP calls are those of all claims. What is loaded at the first of them, such as schemas, is
in there, and one look's time of the worker's start at most.
"""

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from tests.bench.databases import server
from tests.bench.figures import percentile
from tests.bench.whole.contenders import Contender, Desk, Ground
from tests.bench.whole.meter import Meter, Reading, between, per_claim
from tests.bench.whole.program import Program, ProgramError
from tests.bench.whole.stage import LOOK_SECONDS, Files, Stage
from tests.bench.whole.way import Entrant, Way
from tests.support.broker import JOB_EVENTS, StalledError, jobs_in

PATIENCE_SECONDS, SLOWEST_PER_SECOND = 120.0, 2.0
GIVEN_OUT = ("activated", "pushed")
UNCOUNTED = 10
"""So many files before those whose time is taken: by then all is loaded and connected."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Single files: how many, and how many a second."""

    files: int
    per_second: float


@dataclass(frozen=True, slots=True)
class Turn:
    """A contender's turn on a ground."""

    contender: Contender
    ground: Ground
    entrant: Entrant

    @property
    def stage(self) -> Stage:
        """Where it plays."""
        return self.ground.stage

    async def way(self, claims: int, pace: Pace | None, profile: Path | None = None) -> Way:
        """Send a folder, then, where a pace is given, files at that pace."""
        files = self.stage.files(claims)
        taken_in = await self.contender.hand_in(self.ground, files)
        figures = await self._drained(files, profile)
        delays = await self.delays(pace) if pace else ()
        return Way(
            entrant=self.entrant,
            database=self.ground.kind,
            claims=claims,
            files_per_second=taken_in,
            p50_ms=percentile(delays, 0.50) * 1e3 if delays else None,
            p95_ms=percentile(delays, 0.95) * 1e3 if delays else None,
            **figures,
        )

    async def _drained(self, files: Files, profile: Path | None) -> dict[str, Any]:
        worker = self.contender.worker(self.ground, files)
        before, given = await self.stage.arrivals(), await self._given_out()
        done = await self.stage.broker.completed(self.ground.job_type)
        async with worker.profiled(profile).running() as pid:
            meter = self.meter(pid, worker)
            began, before_all = await self._last_without_jobs(meter, given)
            if profile:
                os.kill(pid, signal.SIGUSR1)
            ended = await self._completed(worker, done, files.count)
            spent = between(before_all, meter.read())
        after = await self.stage.arrivals()
        if after.taken - before.taken != files.count:
            raise ProgramError(f"the payer took {after.taken - before.taken} of {files.count} batches")
        return {
            "claims_per_second": files.count / (ended - began),
            "payer_requests": (after.requests - before.requests) / files.count,
            "warnings": len(worker.lines()),
            "said": ", ".join(sorted(set(map(event_of, worker.lines())))),
            **per_claim(spent, files.count),
        }

    def meter(self, pid: int, worker: Program) -> Meter:
        """Of the processes that work in this turn."""
        assert worker.counts is not None
        broker, payer = self.stage.broker.engine.pid, self.stage.payer_pid
        return Meter(pid, broker, payer, server(self.ground.url), worker.counts)

    async def delays(self, pace: Pace) -> Sequence[float]:
        """Seconds from each file, at the moment at which it is handed in, to its protocol."""
        files, began = self.stage.files(UNCOUNTED + pace.files), {}
        done = await self.stage.broker.completed(self.ground.job_type)
        async with self.contender.desk(self.ground, files) as desk:
            start, handing = perf_counter(), []
            for place, number in enumerate(files.numbers):
                await asyncio.sleep(max(0.0, start + place / pace.per_second - perf_counter()))
                began[number] = datetime.now(UTC)
                handing.append(asyncio.create_task(desk.hand_in(number)))
            await asyncio.gather(*handing)
            await self._all_completed(done + files.count, PATIENCE_SECONDS)
            return between_moments(began, await _whole(desk, files))[UNCOUNTED:]

    async def _completed(self, worker: Program, done: int, count: int) -> float:
        try:
            return await self._all_completed(done + count, PATIENCE_SECONDS + count / SLOWEST_PER_SECOND)
        except StalledError as stalled:
            raise StalledError(f"{stalled}; its last words: {worker.last_words()}") from stalled

    async def _all_completed(self, count: int, patience: float) -> float:
        return await self.stage.broker.wait_completed(self.ground.job_type, count, patience)

    async def _given_out(self) -> int:
        metrics = await self.stage.broker.metrics(JOB_EVENTS)
        return sum(jobs_in(metrics, self.ground.job_type, action) for action in GIVEN_OUT)

    async def _last_without_jobs(self, meter: Meter, given: int) -> tuple[float, Reading]:
        """The moment, and what was spent by then, before the worker had its first job."""
        last, deadline = (perf_counter(), meter.read()), monotonic() + PATIENCE_SECONDS
        while True:
            look = perf_counter(), meter.read()
            if await self._given_out() > given:
                return last
            if monotonic() > deadline:
                raise StalledError("the worker took no job")
            last = look
            await asyncio.sleep(LOOK_SECONDS)


def event_of(line: str) -> str:
    """What a line of a log tells of: its event, or the line itself where it is no entry of ours."""
    try:
        return str(json.loads(line)["event"])
    except (ValueError, KeyError, TypeError):
        return line


async def _whole(desk: Desk, files: Files) -> Mapping[int, datetime]:
    ended = await desk.ended()
    if missing := set(files.numbers) - ended.keys():
        raise ProgramError(f"{len(missing)} claims have no protocol on record")
    return ended


def between_moments(began: Mapping[int, datetime], ended: Mapping[int, datetime]) -> list[float]:
    """Seconds from the one to the other, in the order in which they began."""
    return [(ended[number] - moment).total_seconds() for number, moment in began.items()]
