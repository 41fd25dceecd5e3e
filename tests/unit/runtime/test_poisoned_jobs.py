"""One job never stops the rest: what cannot be read, or trips a loop, costs only itself."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.support.faults import End, FaultyGateway, faulty_gateway
from tests.unit.runtime.stage import QUICK, TYPE, collected, done, on_stage, until
from workers.runtime import Complete, Incident, Job, JobHandler, Outcome, executor
from workers.runtime.events import JobCrashed, JobTaken, LoopCrashed, RuntimeEvent
from workers.runtime.job_source import MOST_CRASHES
from workers.runtime.worker import WorkerBrokenError

DEEP = "[" * 60_000 + "]" * 60_000
HANDLER = JobHandler(TYPE, (), done, lock=timedelta(seconds=5), time_limit=timedelta(seconds=4), at_once=4)


@pytest.fixture
async def gateway() -> AsyncIterator[FaultyGateway]:
    async with faulty_gateway() as here:
        yield here


@pytest.mark.parametrize(
    ("variables", "headers", "said"),
    [
        (f'{{"claimId": {DEEP}}}', "{}", "process variables cannot be read (nested too deeply)"),
        ('{"claimId": ', "{}", "process variables cannot be read (not JSON)"),
        ('["CLM-1-1"]', "{}", "process variables cannot be read (not a JSON object)"),
        ("{}", '{"maxRetries": ', "task headers cannot be read (not JSON)"),
        ("{}", '{"maxRetries": 5}', "task headers cannot be read (a value is not a text)"),
        (f'{{"n": {"9" * 5000}}}', "{}", "process variables cannot be read (not JSON)"),
    ],
)
async def test_an_unreadable_job_is_an_incident_and_the_others_go_on(
    gateway: FaultyGateway, variables: str, headers: str, said: str
) -> None:
    events, listener = collected()
    async with on_stage(gateway, HANDLER, listener):
        good = [gateway.store.create(TYPE, {"n": number}) for number in range(5)]
        poisoned = gateway.store.create(TYPE, variables, headers=headers)
        good += [gateway.store.create(TYPE, {"n": number}) for number in range(5)]
        await until(lambda: gateway.ledger.ended == 11)
    story = gateway.ledger.stories[poisoned]
    assert (story.end, story.deliveries) == (End.INCIDENT, 1)
    assert said in story.detail
    assert "CLM-1-1" not in story.detail
    assert {gateway.ledger.stories[key].end for key in good} == {End.COMPLETED}
    assert not [event for event in events if isinstance(event, LoopCrashed)]


async def test_an_output_nested_too_deeply_is_an_incident(gateway: FaultyGateway) -> None:
    async def deep(_job: Job) -> Outcome:
        value: object = 1
        for _ in range(100_000):
            value = [value]
        return Complete({"deep": value})

    _, listener = collected()
    async with on_stage(gateway, replace(HANDLER, handle=deep), listener):
        key = gateway.store.create(TYPE, {})
        await until(lambda: gateway.ledger.ended == 1)
    assert gateway.ledger.stories[key].end is End.INCIDENT


async def test_a_listener_that_fails_stops_nobody(gateway: FaultyGateway) -> None:
    told: list[str] = []

    def fail(event: RuntimeEvent) -> None:
        told.append(type(event).__name__)
        raise RuntimeError("no disk for the log")

    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    try:
        async with on_stage(gateway, HANDLER, fail):
            for number in range(5):
                gateway.store.create(TYPE, {"n": number})
            await until(lambda: gateway.ledger.ended == 5)
    finally:
        asyncio.get_running_loop().set_exception_handler(None)
    assert "JobDone" in told


async def test_a_loop_that_trips_over_something_starts_over(
    gateway: FaultyGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, listener = collected()
    async with on_stage(gateway, HANDLER, listener) as stage:
        take, trips = stage.worker._executors[0].take, iter([True, True])

        def trip_twice(job: Job) -> None:
            if next(trips, False):
                raise KeyError("what nobody foresaw")
            take(job)

        monkeypatch.setattr(stage.worker._executors[0], "take", trip_twice)
        for number in range(20):
            gateway.store.create(TYPE, {"n": number})
        await until(lambda: gateway.ledger.ended == 20)
    crashes = [event for event in events if isinstance(event, LoopCrashed)]
    assert [crash.error for crash in crashes] == ["KeyError", "KeyError"]
    assert all(crash.where and crash.pause > 0 for crash in crashes)
    assert not any("foresaw" in line for crash in crashes for line in crash.where if "raise" not in line)


async def test_a_worker_that_can_serve_nothing_any_more_ends_with_an_error(
    gateway: FaultyGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, listener = collected()
    with pytest.raises(WorkerBrokenError):
        async with on_stage(gateway, HANDLER, listener) as stage:

            def trip(_job: Job) -> None:
                raise KeyError("always")

            monkeypatch.setattr(stage.worker._executors[0], "take", trip)
            # a lock that ends at once: the same jobs come again and again
            while not stage.running.done():
                gateway.store.create(TYPE, {})
                await asyncio.sleep(QUICK.first_pause / 5)
    polls = [event for event in events if isinstance(event, LoopCrashed) and event.how == "poll"]
    assert len(polls) >= MOST_CRASHES
    assert sum(isinstance(event, JobTaken) for event in events) >= MOST_CRASHES


@pytest.mark.parametrize("how", ["raises", "hangs", "is cancelled"])
async def test_the_engine_hears_of_an_incident_whatever_its_keeper_does(
    gateway: FaultyGateway, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(executor, "INCIDENT_SECONDS", 0.1)

    async def look(_job: Job) -> Outcome:
        return Incident("a person must look")

    async def keep(_job: Job, _message: str) -> None:
        if how == "raises":
            raise OSError
        if how == "is cancelled":
            raise asyncio.CancelledError
        await asyncio.Event().wait()

    events, listener = collected()
    async with on_stage(gateway, replace(HANDLER, handle=look, on_incident=keep), listener):
        key = gateway.store.create(TYPE, {})
        await until(lambda: gateway.ledger.ended == 1)
    assert gateway.ledger.stories[key].end is End.INCIDENT
    assert sum(isinstance(event, JobCrashed) for event in events) == 1
