"""What work costs: processor time, and how often an event loop got its turn meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import thread_time

LINEAR = 8
"""Four times the input may cost this much more: linear work costs four times, quadratic sixteen."""


def processor_seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """The least that the work took of this thread's processor time."""
    return min(_once(work) for _ in range(rounds))


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times more a fourfold input costs."""
    small, large = work(size), work(4 * size)
    return processor_seconds(large) / processor_seconds(small)


@dataclass
class Turns:
    """How often the event loop came round."""

    taken: int = 0


@asynccontextmanager
async def counting_turns() -> AsyncIterator[Turns]:
    """Counts the event loop's turns beside the block."""
    turns = Turns()

    async def count() -> None:
        while True:
            turns.taken += 1
            await asyncio.sleep(0.001)

    counting = asyncio.create_task(count())
    try:
        yield turns
    finally:
        counting.cancel()


def _once(work: Callable[[], object]) -> float:
    start = thread_time()
    work()
    return thread_time() - start
