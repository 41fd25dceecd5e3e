"""One contender in one round: a folder sent to its last claim, then single files at a steady pace.

What is counted begins at the last look (twenty a second) that saw the broker give out no job of the round,
and ends when the last is completed. No claim was begun before and none is under way after, so pace, processor
time, commits and HTTP calls are those of all claims. What is loaded at the first of them, such as schemas, is
in there, and one look's time of the worker's start at most.
"""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
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
from tests.bench.whole.said import Said, said_in
from tests.bench.whole.stage import LOOK_SECONDS, Files, Stage
from tests.bench.whole.way import Entrant, Way
from tests.support.broker import JOB_EVENTS, StalledError, jobs_in

PATIENCE_SECONDS = 120.0
"""So long nothing may happen: revisions before sends shared their commits stand still for 300 at a time."""
GIVEN_OUT, THROWN = ("activated", "pushed"), "error thrown"
UNCOUNTED = 10
"""So many files before those whose time is taken: by then all is loaded and connected."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Single files: how many, and how many a second."""

    files: int
    per_second: float


@dataclass(frozen=True, slots=True)
class Turn:
    """A contender's turn on a ground, with so many workers side by side."""

    contender: Contender
    ground: Ground
    entrant: Entrant
    workers: int = 1

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
        workers, broker = self._workers(files, profile), self.stage.broker
        before, given, thrown = await self.stage.arrivals(), await self._given_out(), await self._thrown()
        done = await broker.completed(self.ground.job_type)
        async with AsyncExitStack() as stack:
            running = {await stack.enter_async_context(worker.running()): worker for worker in workers}
            meter = self.meter(running)
            began, before_all = await self._last_without_jobs(meter, given)
            if profile:
                os.kill(next(iter(running)), signal.SIGUSR1)
            ended = await self._completed(workers[0], done, files.count)
            spent = between(before_all, meter.read())
        sent_round, after = await self._thrown() - thrown, await self.stage.arrivals()
        if after.taken - before.taken != files.count:
            raise ProgramError(f"the payer took {after.taken - before.taken} of {files.count} batches")
        return {
            "claims_per_second": files.count / (ended - began),
            "payer_requests": (after.requests - before.requests) / files.count,
            "sent_round": sent_round / files.count,
            **_words(said_in(line for worker in workers for line in worker.lines()), files.count),
            **per_claim(spent, files.count),
        }

    def _workers(self, files: Files, profile: Path | None) -> Sequence[Program]:
        """So many of the contender's worker, each with its own log and counts; the first may be profiled."""
        first = self.contender.worker(self.ground, files)
        others = [first.another(number) for number in range(1, self.workers)]
        return [first.profiled(profile), *others]

    def meter(self, running: Mapping[int, Program]) -> Meter:
        """Of the processes that work in this turn."""
        counts = {pid: worker.counts for pid, worker in running.items() if worker.counts}
        broker, payer = self.stage.broker.engine.pid, self.stage.payer_pid
        return Meter(counts, broker, payer, server(self.ground.url))

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
            await self._all_completed(done + files.count)
            return between_moments(began, await _whole(desk, files))[UNCOUNTED:]

    async def _completed(self, worker: Program, done: int, count: int) -> float:
        try:
            return await self._all_completed(done + count)
        except StalledError as stalled:
            raise StalledError(f"{stalled}; its last words: {worker.last_words()}") from stalled

    async def _all_completed(self, count: int) -> float:
        return await self.stage.broker.wait_steadily(self.ground.job_type, count, PATIENCE_SECONDS)

    async def _given_out(self) -> int:
        metrics = await self.stage.broker.metrics(JOB_EVENTS)
        return sum(jobs_in(metrics, self.ground.job_type, action) for action in GIVEN_OUT)

    async def _thrown(self) -> int:
        return await self.stage.broker.jobs(self.ground.job_type, THROWN)

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


def _words(said: Said, claims: int) -> dict[str, Any]:
    return {"warnings": said.warnings, "postponed": said.postponements / claims, "said": str(said)}


async def _whole(desk: Desk, files: Files) -> Mapping[int, datetime]:
    ended = await desk.ended()
    if missing := set(files.numbers) - ended.keys():
        raise ProgramError(f"{len(missing)} claims have no protocol on record")
    return ended


def between_moments(began: Mapping[int, datetime], ended: Mapping[int, datetime]) -> list[float]:
    """Seconds from the one to the other, in the order in which they began."""
    return [(ended[number] - moment).total_seconds() for number, moment in began.items()]
