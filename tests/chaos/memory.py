"""Does the worker keep its memory flat? Rounds of jobs, a reset connection after each, samples on the way.

Full size: `python -m tests.chaos.memory`; the test run takes a smaller one. The exit code says whether it is.
"""

import argparse
import asyncio
import gc
import random
import statistics
import sys
from dataclasses import dataclass, field
from datetime import timedelta

import psutil

from tests.chaos.arena import TIMINGS, plain_channel, until
from tests.chaos.handlers import SECRET, claim
from tests.support.faults import Cable, FaultyGateway, cable_to, faulty_gateway
from tests.support.logwatch import watching
from workers.runtime import Complete, Job, JobHandler, Outcome
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker

TYPE = "chaos-memory"
AT_ONCE = 64
SAMPLES = 24
MEGABYTE = 1024 * 1024
FLAT_OBJECTS, FLAT_MEGABYTES = 200, 8


@dataclass(slots=True)
class Memory:
    """Samples taken on the way: objects that Python tracks, and resident bytes."""

    objects: list[int] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)

    def sample(self) -> None:
        """Look now."""
        gc.collect()
        self.objects.append(len(gc.get_objects()))
        self.resident.append(psutil.Process().memory_info().rss)

    @property
    def more_objects(self) -> int:
        """Growth from the second quarter, when all is warm, to the last."""
        return round(_growth(self.objects))

    @property
    def more_megabytes(self) -> float:
        """Growth of the resident memory, likewise."""
        return _growth(self.resident) / MEGABYTE

    @property
    def is_flat(self) -> bool:
        """Whether what grew is no more than noise."""
        return self.more_objects < FLAT_OBJECTS and self.more_megabytes < FLAT_MEGABYTES


def _growth(samples: list[int]) -> float:
    quarter = len(samples) // 4
    return statistics.median(samples[-quarter:]) - statistics.median(samples[quarter : 2 * quarter])


async def handle(job: Job) -> Outcome:
    """Work that leaves nothing behind."""
    await asyncio.sleep(0)
    return Complete({"claimId": job.variables["claimId"]})


async def measure(jobs: int, reconnects: int) -> Memory:
    """So many jobs and so many reset connections through one worker."""
    handler = JobHandler(TYPE, ("claimId",), handle, lock=timedelta(seconds=5), at_once=AT_ONCE)
    stop, memory = asyncio.Event(), Memory()
    with watching(SECRET):
        async with (
            faulty_gateway() as gateway,
            cable_to(gateway.port) as cable,
            plain_channel(cable.address) as channel,
        ):
            options = WorkerOptions("memory", random.Random(0), timings=TIMINGS)
            worker = Worker(channel, [handler], options)
            running = asyncio.create_task(worker.run(stop))
            await _rounds(gateway, cable, memory, jobs=jobs, rounds=reconnects)
            stop.set()
            await running
    return memory


async def _rounds(gateway: FaultyGateway, cable: Cable, memory: Memory, *, jobs: int, rounds: int) -> None:
    for number in range(rounds):
        await _one_round(gateway, jobs * (number + 1) // rounds)
        await _reconnect(cable)
        gateway.store.forget_ended()
        if number % max(1, rounds // SAMPLES) == 0:
            memory.sample()


async def _reconnect(cable: Cable) -> None:
    dialled = cable.connections
    cable.cut()
    await until(lambda: cable.connections > dialled)
    assert cable.connections > dialled, "the worker did not dial again"


async def _one_round(gateway: FaultyGateway, target: int) -> None:
    while gateway.ledger.created < target:
        for _ in range(min(AT_ONCE, target - gateway.ledger.created)):
            gateway.store.create(TYPE, claim(gateway.ledger.created))
        await until(lambda: gateway.ledger.ended >= gateway.ledger.created)
        assert gateway.ledger.ended == gateway.ledger.created, "the worker left jobs undone"


def main() -> int:
    """Measure at full size and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--reconnects", type=int, default=1_000)
    size = parser.parse_args()
    memory = asyncio.run(measure(size.jobs, size.reconnects))
    resident = [round(sample / MEGABYTE, 1) for sample in memory.resident]
    print(f"{size.jobs} jobs, {size.reconnects} reconnects")
    print(
        f"objects: {memory.objects[0]} at first, {memory.objects[-1]} at last, {memory.more_objects:+d} warm"
    )
    print(f"resident MB: {resident[0]} at first, {resident[-1]} at last, {memory.more_megabytes:+.1f} warm")
    return 0 if memory.is_flat else 1


if __name__ == "__main__":
    sys.exit(main())
