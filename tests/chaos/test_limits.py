"""Handlers that overstay, and floods: a run is reported once, the limit on handlers holds."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from tests.chaos.arena import plain_channel, until
from tests.support.faults import End, FaultyGateway, Rule, SlowStream, faulty_gateway
from workers.runtime import Complete, Job, JobHandler, Outcome
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker

AT_ONCE = 4
Handle = Callable[[Job], Awaitable[Outcome]]


@asynccontextmanager
async def served(handle: Handle, limit: timedelta = timedelta(seconds=5)) -> AsyncIterator[FaultyGateway]:
    """A gateway whose jobs of type `limits` are handled so."""
    handler = JobHandler("limits", (), handle, lock=timedelta(seconds=30), time_limit=limit, at_once=AT_ONCE)
    stop = asyncio.Event()
    async with faulty_gateway() as gateway, plain_channel(gateway.address) as channel:
        worker = Worker(channel, [handler], WorkerOptions("limits", random.Random(0)))
        running = asyncio.create_task(worker.run(stop, drain=timedelta(seconds=1)))
        yield gateway
        stop.set()
        await running


async def test_a_handler_that_answers_after_it_was_cancelled_is_reported_once() -> None:
    async def overstay(_job: Job) -> Outcome:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Complete({"late": True})
        raise AssertionError

    async with served(overstay, timedelta(milliseconds=50)) as gateway:
        keys = [gateway.store.create("limits", {}, retries=1) for _ in range(20)]
        await until(lambda: gateway.ledger.ended == len(keys))
        stories = [gateway.ledger.stories[key] for key in keys]
    assert {(story.deliveries, story.reports) for story in stories} == {(1, 1)}


async def test_a_handler_past_its_time_is_failed_and_not_completed() -> None:
    async def hang(_job: Job) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    async with served(hang, timedelta(milliseconds=50)) as gateway:
        key = gateway.store.create("limits", {}, retries=1)
        await until(lambda: gateway.ledger.ended == 1)
        story = gateway.ledger.stories[key]
    assert (story.end, story.reports) == (End.INCIDENT, 1)


async def test_a_flood_of_pushed_jobs_stays_within_the_limit() -> None:
    now, most = 0, 0

    async def count(_job: Job) -> Outcome:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return Complete()

    async with served(count) as gateway:
        await until(lambda: gateway.open_streams("limits") > 0)
        gateway.faults.switch(Rule(SlowStream(0.001), probability=0.1))
        for _ in range(300):
            gateway.store.create("limits", {})
        await until(lambda: gateway.ledger.ended == 300)
        assert gateway.ledger.ended == 300
    assert most == AT_ONCE
