"""Runs one handler on one job: within its time, with its lock extended when that is longer."""

import asyncio
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import grpc

from workers.runtime.events import JobCrashed, Listener, nobody
from workers.runtime.gateway import Gateway
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Fail, Outcome

TECHNICAL_BACKOFF = timedelta(seconds=5)


async def run_handler(handler: JobHandler, job: Job, listener: Listener = nobody) -> Outcome:
    """The handler's answer; what it did not foresee is a technical failure that names no data."""
    try:
        async with asyncio.timeout(handler.time_limit.total_seconds()):
            return await handler.handle(job)
    except TimeoutError:
        limit = handler.time_limit.total_seconds()
        late = Fail(f"{job.type} took longer than its limit of {limit:g} s", TECHNICAL_BACKOFF)
        return handler.late(job) or late
    except Exception as error:
        name, stack = type(error).__name__, traceback.format_tb(error.__traceback__)
        listener(JobCrashed(job.type, job.key, name, tuple(stack)))
        return Fail(f"{job.type} failed: {name}", TECHNICAL_BACKOFF)


@asynccontextmanager
async def extended(gateway: Gateway, handler: JobHandler, job: Job) -> AsyncIterator[None]:
    """Keep the lock of a long job alive while the block runs."""
    if handler.time_limit < handler.lock:
        yield
        return
    keeper = asyncio.create_task(_keep_extending(gateway, handler, job))
    try:
        yield
    finally:
        keeper.cancel()


async def _keep_extending(gateway: Gateway, handler: JobHandler, job: Job) -> None:
    lock = handler.lock.total_seconds()
    while True:
        await asyncio.sleep(lock / 3)
        try:
            await gateway.extend(job.key, lock, lock / 3)
        except grpc.aio.AioRpcError:
            continue  # tried again in a moment; a lost lock shows when the job is reported
