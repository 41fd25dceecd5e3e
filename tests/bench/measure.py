"""One contender in one round: warmed up, then a backlog to drain, then a steady pace."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import grpc

from tests.bench.contender import Contender, RunningContender, running_contender
from tests.bench.figures import Sample, percentile
from tests.bench.load import RESULT_SECONDS, Load
from tests.bench.loop import Limits, drain
from tests.support.broker import BenchBroker, StalledError

SLOWEST_JOBS_PER_SECOND = 4.0
PATIENCE_SECONDS = 60.0
SLOW_WARM_UP, SLOW_JOBS = 32, 200


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much work a round is."""

    warm_up: int
    jobs: int
    rate: float
    paced: int


@dataclass(frozen=True, slots=True)
class Track:
    """Where the contenders run: the broker, and the load that is put on it."""

    broker: BenchBroker
    load: Load
    sizes: Sizes


async def warm_up_broker(track: Track, channel: grpc.aio.Channel) -> None:
    """Let the broker's Java compile what it needs, before anybody is measured."""
    count = track.sizes.warm_up * 2
    await track.load.deploy("warm-broker")
    await track.load.backlog("warm-broker", count)
    await drain(channel, "warm-broker", count, Limits())


def turns(contenders: Sequence[Contender], rounds: int) -> Iterator[tuple[int, Contender]]:
    """All contenders in each round; every round begins with the next one."""
    for number in range(rounds):
        first = number % max(1, len(contenders))
        for contender in (*contenders[first:], *contenders[:first]):
            yield number, contender


async def measure(track: Track, contender: Contender, number: int) -> Sample:
    """Measure one contender; the worker process is new, the broker is the same for all."""
    async with running_contender(contender) as running:
        warm_up, jobs = _sizes_for(contender, track.sizes)
        await _drain(track, running, f"warm-{contender.name}-{number}", warm_up)
        spent = await _drain(track, running, f"drain-{contender.name}-{number}", jobs)
        answers = await _paced(track, running, f"paced-{contender.name}-{number}")
    latencies = [RESULT_SECONDS if answer is None else answer for answer in answers]
    return Sample(
        contender=contender.name,
        round=number,
        jobs_per_second=jobs / spent.seconds,
        cpu_ms_per_job=spent.worker_cpu / jobs * 1e3,
        broker_ms_per_job=spent.broker_cpu / jobs * 1e3,
        p50_ms=percentile(latencies, 0.50) * 1e3,
        p99_ms=percentile(latencies, 0.99) * 1e3,
        unanswered=answers.count(None),
    )


@dataclass(frozen=True, slots=True)
class _Spent:
    """Seconds by the clock, and CPU seconds of both processes, for one drained backlog."""

    seconds: float
    worker_cpu: float
    broker_cpu: float


async def _drain(track: Track, running: RunningContender, job_type: str, count: int) -> _Spent:
    """What it takes from the first poll to the last completion."""
    await track.load.deploy(job_type)
    await track.load.backlog(job_type, count)
    start, worker, broker = perf_counter(), running.cpu_seconds(), track.broker.cpu_seconds()
    await running.serve(job_type)
    patience = PATIENCE_SECONDS + count / SLOWEST_JOBS_PER_SECOND
    try:
        end = await track.broker.wait_completed(job_type, count, patience)
    except StalledError as stalled:
        raise StalledError(f"{stalled}; its last words: {running.last_words()}") from stalled
    return _Spent(end - start, running.cpu_seconds() - worker, track.broker.cpu_seconds() - broker)


async def _paced(track: Track, running: RunningContender, job_type: str) -> list[float | None]:
    await track.load.deploy(job_type)
    await running.serve(job_type)
    # a first job, uncounted: streams and polls are open once it is through
    await asyncio.wait_for(track.load.paced(job_type, rate=1, count=1), PATIENCE_SECONDS)
    return await track.load.paced(job_type, rate=track.sizes.rate, count=track.sizes.paced)


def _sizes_for(contender: Contender, sizes: Sizes) -> tuple[int, int]:
    if not contender.slow:
        return sizes.warm_up, sizes.jobs
    return min(SLOW_WARM_UP, sizes.warm_up), min(SLOW_JOBS, sizes.jobs)
