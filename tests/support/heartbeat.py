"""Whether an event loop goes on: how long our own work kept it from its next turn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter, process_time

TICK_SECONDS = 0.005


class Heartbeat:
    """The longest pause so far for which this process worked and the loop did not turn.

    Time that the machine gave to others is no pause of ours: of the clock's time and the processor's, the
    shorter counts. Work in a thread that holds the interpreter's lock does count.
    """

    def __init__(self) -> None:
        self.longest = 0.0

    def reset(self) -> None:
        """Forget what was."""
        self.longest = 0.0

    async def beat(self) -> None:
        """One turn."""
        wall, cpu = perf_counter(), process_time()
        await asyncio.sleep(TICK_SECONDS)
        self.longest = max(self.longest, min(perf_counter() - wall, process_time() - cpu))


@asynccontextmanager
async def heartbeat() -> AsyncIterator[Heartbeat]:
    """A heart that beats beside a block."""
    heart = Heartbeat()

    async def live() -> None:
        while True:
            await heart.beat()

    task = asyncio.create_task(live())
    try:
        yield heart
    finally:
        task.cancel()
        await asyncio.wait([task])
