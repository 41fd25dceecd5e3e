"""A worker of an app, at work beside a block."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from workers.app.composition import App


@asynccontextmanager
async def at_work(app: App, name: str) -> AsyncIterator[None]:
    """All its handlers until the block ends; then it drains."""
    stop = asyncio.Event()
    task = asyncio.create_task(app.worker(name=name).run(stop))
    try:
        yield
    finally:
        stop.set()
        await task
