"""The soaked worker as a program: `python -m tests.bench.soak.worker ADDRESS [--trace]`.

It works as `reenvio work` does, for decisions, and completes empty jobs beside. Each line on its input is
answered with what its memory holds at that moment; the end of the input ends it.
"""

import argparse
import asyncio
import gc
import json
import sys
import tracemalloc
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import islice

from bpmn.names import JobType
from gateways.clock import WallClock
from gateways.zeebe.connection import Plaintext
from tests.bench.soak.heap import heap_bytes
from workers.app.cluster import Cluster
from workers.app.composition import App, jitter, working
from workers.app.logs import configure_logs
from workers.config.settings import read_settings
from workers.runtime import Complete, Job, JobHandler, Outcome
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker

EMPTY = "soak-empty"
EMPTY_AT_ONCE = 64
LOCK, TIME_LIMIT = timedelta(seconds=10), timedelta(seconds=5)
GREATEST = 12


def workers_of(app: App) -> list[Worker]:
    """One for decisions as the product has it, one for empty jobs."""
    empty = JobHandler(EMPTY, (), _complete, LOCK, TIME_LIMIT, EMPTY_AT_ONCE)
    options = WorkerOptions("soak-empty", jitter(), reopen=app.reopen, listener=app.listener)
    return [app.worker(frozenset({JobType.ANALYZE_RETRY})), Worker(app.channel, [empty], options)]


async def _complete(_job: Job) -> Outcome:
    return Complete()


class Looks:
    """What is in memory now; with `trace` also which lines have more of it than when it was first asked."""

    def __init__(self, *, trace: bool) -> None:
        self._trace = trace
        self._first: tracemalloc.Snapshot | None = None

    def look(self) -> dict[str, object]:
        """After a collection, so that what is only waiting for one does not count."""
        gc.collect()
        found: dict[str, object] = {"objects": len(gc.get_objects()), "tasks": len(asyncio.all_tasks())}
        return found | {"heap": heap_bytes(), "grown": self._grown() if self._trace else []}

    def _grown(self) -> list[str]:
        now = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, tracemalloc.__file__)])
        if self._first is None:
            self._first = now
            return []
        return [str(line) for line in islice(now.compare_to(self._first, "lineno"), GREATEST)]


async def lines_of_input() -> AsyncIterator[bytes]:
    """Every line until the input ends."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line


async def main(address: str, *, trace: bool) -> None:
    """Work and answer until the input ends."""
    looks, stop = Looks(trace=trace), asyncio.Event()
    async with (
        working(read_settings(), Cluster(Plaintext(address), WallClock())) as app,
        asyncio.TaskGroup() as group,
    ):
        for worker in workers_of(app):
            group.create_task(worker.run(stop))
        async for _ in lines_of_input():
            print(json.dumps(looks.look()), flush=True)
        stop.set()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--trace", action="store_true")
    given = parser.parse_args()
    configure_logs("info", "json")
    if given.trace:
        tracemalloc.start()
    asyncio.run(main(given.address, trace=given.trace))
