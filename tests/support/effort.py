"""What work costs in processor time, and how much of it keeps an event loop from its turns."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from time import thread_time

LINEAR = 8
"""Four times the input may cost this much more: linear work costs four times, quadratic sixteen."""
ROUNDS_MOST = 6
"""Caches that others empty cost a round; what is quadratic is so in every round."""


def processor_seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """The least that the work took of this thread's processor time."""
    return min(_once(work) for _ in range(rounds))


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times more a fourfold input costs."""
    small, large = work(size), work(4 * size)
    least = (inf, inf)
    for _ in range(ROUNDS_MOST):
        least = (min(least[0], processor_seconds(small)), min(least[1], processor_seconds(large)))
        if least[1] < LINEAR * least[0]:
            break
    return least[1] / least[0]


@dataclass
class LoopSteps:
    """The longest that the event loop's own thread worked between two turns, in processor seconds."""

    longest: float = 0


@asynccontextmanager
async def watching_loop() -> AsyncIterator[LoopSteps]:
    """Watches the event loop beside the block; what others do to the machine does not count."""
    steps = LoopSteps()

    async def watch() -> None:
        while True:
            start = thread_time()
            await asyncio.sleep(0.001)
            steps.longest = max(steps.longest, thread_time() - start)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    try:
        yield steps
        await asyncio.sleep(0.002)
    finally:
        watching.cancel()


def _once(work: Callable[[], object]) -> float:
    start = thread_time()
    work()
    return thread_time() - start
