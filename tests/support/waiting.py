"""Looking until something is so."""

import asyncio
from collections.abc import Awaitable, Callable


async def eventually(look: Callable[[], Awaitable[object]], seconds: float = 20) -> None:
    """Look again and again; a TimeoutError when it is not so in time."""
    async with asyncio.timeout(seconds):
        while not await look():
            await asyncio.sleep(0.01)
