"""Notices when the event loop was kept from its turns: nothing was served then, and nobody else says so."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from workers.runtime.events import Listener, LoopBlocked

TICK_SECONDS = 0.02
BLOCKED_SECONDS = 0.1


@asynccontextmanager
async def watched_loop(
    listener: Listener, *, seconds: Callable[[], float] = time.monotonic
) -> AsyncIterator[None]:
    """Watch the loop beside the block."""
    watching = asyncio.create_task(_watch(listener, seconds))
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _watch(listener: Listener, seconds: Callable[[], float]) -> None:
    longest, last = 0.0, seconds()
    while True:
        await asyncio.sleep(TICK_SECONDS)
        now = seconds()
        late, last = now - last - TICK_SECONDS, now
        if late >= BLOCKED_SECONDS:
            longest = max(longest, late)
            listener(LoopBlocked(round(late, 3), round(longest, 3)))
