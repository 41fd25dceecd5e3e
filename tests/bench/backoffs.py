"""`python -m tests.bench.backoffs`: does the engine hand every job out again whose backoff is over?

Jobs fail three times each with backoffs of 0.3 to 2 s, beside busy loops, on a broker with as many threads as
asked for. No code of ours has a hand in it but for the broker's start.
"""

import argparse
import asyncio
import multiprocessing
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import grpc
from pyzeebe.proto import gateway_pb2 as pb
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub

from gateways.zeebe.engine import SilentReporter
from tests.bench.load import Load
from tests.support.broker import bench_broker

JOB_TYPE = "backoff"
FAILURES, BACKOFF_MS, PATIENCE_SECONDS = 3, (300, 2_000), 20.0


@dataclass(slots=True)
class Drain:
    """Fails each job a few times, then completes it."""

    stub: Any
    luck: random.Random
    failures: Counter[int] = field(default_factory=Counter)
    done: set[int] = field(default_factory=set)
    moved: float = field(default_factory=monotonic)

    async def run(self, jobs: int) -> None:
        """Until all are done, or nothing moves any more."""
        polls = [asyncio.create_task(self._poll()) for _ in range(2)]
        try:
            while len(self.done) < jobs and monotonic() - self.moved < PATIENCE_SECONDS:
                await asyncio.sleep(0.2)
        finally:
            for poll in polls:
                poll.cancel()

    async def _poll(self) -> None:
        request = pb.ActivateJobsRequest(
            type=JOB_TYPE, worker="bench", timeout=60_000, maxJobsToActivate=32, requestTimeout=1_000
        )
        while True:
            try:
                async for answer in self.stub.ActivateJobs(request):
                    await asyncio.gather(*map(self._handle, answer.jobs))
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.05)

    async def _handle(self, job: pb.ActivatedJob) -> None:
        if self.failures[job.key] == FAILURES:
            await self.stub.CompleteJob(pb.CompleteJobRequest(jobKey=job.key))
            self.done.add(job.key)
        else:
            self.failures[job.key] += 1
            backoff = self.luck.randint(*BACKOFF_MS)
            await self.stub.FailJob(
                pb.FailJobRequest(jobKey=job.key, retries=job.retries, retryBackOff=backoff)
            )
        self.moved = monotonic()


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes that do nothing but count."""
    processes = [multiprocessing.Process(target=_count, daemon=True) for _ in range(loops)]
    for process in processes:
        process.start()
    yield
    for process in processes:
        process.kill()


def _count() -> None:
    while True:
        pass


async def measured(options: argparse.Namespace) -> str:
    """One line about one run."""
    with busy(options.loops):
        settings = {"ZEEBE_BROKER_THREADS_CPUTHREADCOUNT": str(options.threads)}
        async with (
            bench_broker(SilentReporter(), settings) as broker,
            grpc.aio.insecure_channel(broker.engine.grpc_address) as channel,
        ):
            load, drain = Load(channel), Drain(GatewayStub(channel), random.Random(options.seed))
            await load.deploy(JOB_TYPE)
            await asyncio.gather(load.backlog(JOB_TYPE, options.jobs), drain.run(options.jobs))
    lost = options.jobs - len(drain.done)
    failed = f"{options.threads} CPU threads, {drain.failures.total()} failed jobs"
    return f"{failed}: {lost} of {options.jobs} were never handed out again"


def main() -> None:
    """Read what is asked for, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.bench.backoffs")
    parser.add_argument("--jobs", type=int, default=1_500)
    parser.add_argument("--threads", type=int, default=2, help="the broker's CPU threads (2 is its default)")
    parser.add_argument("--loops", type=int, default=3, help="busy loops beside it")
    parser.add_argument("--seed", type=int, default=1)
    print(asyncio.run(measured(parser.parse_args())))


if __name__ == "__main__":
    main()
