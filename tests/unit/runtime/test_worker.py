"""The worker against a gateway that can be told to misbehave."""

import asyncio
import contextvars
import random
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import grpc
import pytest

from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from tests.support.faults import (
    REPORTS,
    End,
    FaultyGateway,
    Hang,
    LoseAnswer,
    Method,
    Refuse,
    Rule,
    faulty_gateway,
)
from tests.unit.runtime.stage import QUICK, TYPE, Handle, collected, done, on_stage, until
from workers.runtime import Complete, Fail, Incident, Job, JobHandler, Outcome, Throw, Timings, blocking
from workers.runtime.events import (
    GatewayFailed,
    JobDone,
    JobTaken,
    LoopCrashed,
    RenewalFailed,
    ReportGivenUp,
    ReportRetried,
    RuntimeEvent,
    StreamsUnknown,
)
from workers.runtime.handler import nobody_is_told
from workers.runtime.health import Health
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker


@pytest.fixture
async def gateway() -> AsyncIterator[FaultyGateway]:
    async with faulty_gateway() as here:
        yield here


@asynccontextmanager
async def working(
    gateway: FaultyGateway,
    handle: Handle,
    *,
    at_once: int = 4,
    lock: float = 5.0,
    limit: float = 4.0,
    drain: float = 5.0,
    reopen: Callable[[], grpc.aio.Channel] | None = None,
    on_incident: Callable[[Job, str], Awaitable[None]] = nobody_is_told,
) -> AsyncIterator[list[RuntimeEvent]]:
    """A worker beside the block; yields its events."""
    handler = JobHandler(
        TYPE, (), handle, lock=timedelta(seconds=lock), time_limit=timedelta(seconds=limit), at_once=at_once
    )
    handler = replace(handler, on_incident=on_incident)
    events, listener = collected()
    async with on_stage(gateway, handler, listener, reopen=reopen, drain=timedelta(seconds=drain)):
        yield events


def create(gateway: FaultyGateway, count: int = 1) -> list[int]:
    return [gateway.store.create(TYPE, {}) for _ in range(count)]


@pytest.mark.parametrize(
    ("outcome", "end"),
    [
        (Complete({"a": 1}), End.COMPLETED),
        (Throw("CODE", "why", {"b": 2}), End.THROWN),
        (Incident("a person must look"), End.INCIDENT),
    ],
)
async def test_each_outcome_becomes_its_engine_verb(
    gateway: FaultyGateway, outcome: Outcome, end: End
) -> None:
    async def answer(_job: Job) -> Outcome:
        return outcome

    async with working(gateway, answer):
        [key] = create(gateway)
        await until(lambda: gateway.ledger.ended == 1)
    assert gateway.ledger.stories[key].end is end


async def test_a_technical_failure_spends_retries_until_it_is_an_incident(gateway: FaultyGateway) -> None:
    async def fail(_job: Job) -> Outcome:
        return Fail("the database is away", timedelta(milliseconds=10))

    async with working(gateway, fail) as events:
        [key] = create(gateway)
        await until(lambda: gateway.ledger.ended == 1)
    story = gateway.ledger.stories[key]
    assert (story.end, story.deliveries) == (End.INCIDENT, 3)
    assert [event.outcome for event in events if isinstance(event, JobDone)] == ["fail", "fail", "incident"]


@pytest.mark.parametrize("how", ["incident", "last retry", "crash", "too slow"])
async def test_who_keeps_incidents_is_told_before_the_engine(gateway: FaultyGateway, how: str) -> None:
    told: list[tuple[int, str]] = []

    async def answer(_job: Job) -> Outcome:
        if how == "crash":
            raise RuntimeError
        if how == "too slow":
            await asyncio.Event().wait()
        return Incident("why") if how == "incident" else Fail("why", timedelta())

    async def keep(job: Job, message: str) -> None:
        assert gateway.ledger.ended == 0
        told.append((job.key, message))

    async with working(gateway, answer, limit=0.05, on_incident=keep):
        key = gateway.store.create(TYPE, {}, retries=1)
        await until(lambda: gateway.ledger.ended == 1)
    assert [of for of, _ in told] == [key]
    assert gateway.ledger.stories[key].end is End.INCIDENT


async def test_an_output_that_is_not_json_is_an_incident_that_says_so(gateway: FaultyGateway) -> None:
    async def answer(_job: Job) -> Outcome:
        return Complete({"when": datetime(2026, 1, 1, tzinfo=UTC)})

    async with working(gateway, answer):
        [key] = create(gateway)
        await until(lambda: gateway.ledger.ended == 1)
    story = gateway.ledger.stories[key]
    assert story.end is End.INCIDENT
    assert "datetime" in story.detail
    assert "not JSON" in story.detail


async def test_never_more_handlers_at_once_than_allowed(gateway: FaultyGateway) -> None:
    running, most = 0, 0

    async def count(_job: Job) -> Outcome:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1
        return Complete()

    async with working(gateway, count, at_once=3):
        create(gateway, 40)
        await asyncio.sleep(0.05)
        create(gateway, 40)
        await until(lambda: gateway.ledger.ended == 80)
    assert most == 3


async def test_a_full_worker_reads_no_further_pushed_jobs(gateway: FaultyGateway) -> None:
    gate = asyncio.Event()

    async def wait(_job: Job) -> Outcome:
        await gate.wait()
        return Complete()

    async with working(gateway, wait, at_once=2) as events:
        await until(lambda: gateway.open_streams(TYPE) == 1)
        keys = create(gateway, 12)
        await until(lambda: sum(isinstance(event, JobTaken) for event in events) == 4)
        await asyncio.sleep(0.1)
        assert sum(isinstance(event, JobTaken) for event in events) == 4
        gate.set()
        await until(lambda: gateway.ledger.ended == 12)
    assert all(gateway.ledger.stories[key].end is End.COMPLETED for key in keys)


async def test_a_stopping_worker_finishes_what_runs(gateway: FaultyGateway) -> None:
    begun = asyncio.Event()

    async def slow(_job: Job) -> Outcome:
        begun.set()
        await asyncio.sleep(0.2)
        return Complete()

    async with working(gateway, slow):
        [key] = create(gateway)
        await begun.wait()
    assert gateway.ledger.stories[key].end is End.COMPLETED


async def test_a_stopping_worker_hands_back_what_does_not_finish_in_time(gateway: FaultyGateway) -> None:
    begun = asyncio.Event()

    async def hang(_job: Job) -> Outcome:
        begun.set()
        await asyncio.Event().wait()
        return Complete()

    async with working(gateway, hang, at_once=1, drain=0.05):
        keys = create(gateway, 2)
        await begun.wait()
    assert {job.key for job in gateway.store.open_jobs()} == set(keys)
    assert {job.retries for job in gateway.store.open_jobs()} == {3}
    async with working(gateway, done):
        await until(lambda: gateway.ledger.ended == 2)


async def test_a_stopping_worker_waits_for_what_it_gave_up(gateway: FaultyGateway) -> None:
    """It may have to give a connection back, which nobody must close under it."""
    events, listener = collected()
    begun, given_back = asyncio.Event(), list[str]()
    seen: list[list[str]] = []

    async def hang(_job: Job) -> Outcome:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await until(lambda: any(isinstance(event, JobDone) for event in events))  # handed back
            for _ in range(100):
                await asyncio.sleep(0)
            given_back.append("a connection")
        return Complete()

    async with on_stage(
        gateway, JobHandler(TYPE, (), hang), listener, drain=timedelta(seconds=0.05)
    ) as stage:
        stage.running.add_done_callback(lambda _: seen.append(list(given_back)))
        create(gateway)
        await begun.wait()
    assert seen == [["a connection"]]


async def test_a_stopping_worker_waits_for_what_its_jobs_began_and_left(gateway: FaultyGateway) -> None:
    ended: list[str] = []

    async def finish() -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        ended.append("what was left")

    _, listener = collected()
    async with on_stage(gateway, JobHandler(TYPE, (), done, finish=finish), listener) as stage:
        stage.stop.set()
    assert ended == ["what was left"]


async def test_a_report_whose_answer_got_lost_is_counted_as_settled_before(gateway: FaultyGateway) -> None:
    gateway.faults.switch(Rule(LoseAnswer(), REPORTS, 1.0))
    async with working(gateway, done) as events:
        [key] = create(gateway)
        await until(lambda: any(isinstance(event, ReportRetried) for event in events))
        gateway.faults.switch()
        await until(lambda: any(isinstance(event, JobDone) for event in events))
    assert [event.settled_before for event in events if isinstance(event, JobDone)] == [True]
    assert gateway.ledger.stories[key].deliveries == 1


async def test_a_failure_whose_answer_got_lost_is_counted_as_settled_before(gateway: FaultyGateway) -> None:
    async def fail(_job: Job) -> Outcome:
        return Fail("the database is away", timedelta(minutes=1))

    gateway.faults.switch(Rule(LoseAnswer(), REPORTS, 1.0))
    async with working(gateway, fail) as events:
        create(gateway)
        await until(lambda: any(isinstance(event, ReportRetried) for event in events))
        gateway.faults.switch()
        await until(lambda: any(isinstance(event, JobDone | ReportGivenUp) for event in events))
    assert [event.settled_before for event in events if isinstance(event, JobDone)] == [True]


async def test_a_refused_token_is_renewed_by_a_new_channel(gateway: FaultyGateway) -> None:
    gateway.faults.switch(Rule(Refuse(grpc.StatusCode.UNAUTHENTICATED), frozenset(Method), 1.0))
    opened: list[grpc.aio.Channel] = []

    def reopen() -> grpc.aio.Channel:
        gateway.faults.switch()
        opened.append(open_channel(Plaintext(gateway.address)))
        return opened[-1]

    async with working(gateway, done, reopen=reopen):
        create(gateway)
        await until(lambda: gateway.ledger.ended == 1)
    assert len(opened) == 1


async def test_an_old_gateway_is_served_by_polling(gateway: FaultyGateway) -> None:
    gateway.faults.switch(Rule(Refuse(grpc.StatusCode.UNIMPLEMENTED), frozenset({Method.STREAM}), 1.0))
    async with working(gateway, done) as events:
        create(gateway, 20)
        await until(lambda: gateway.ledger.ended == 20)
    assert sum(isinstance(event, StreamsUnknown) for event in events) == 1


async def test_a_long_handler_keeps_its_job(gateway: FaultyGateway) -> None:
    async def long(_job: Job) -> Outcome:
        await asyncio.sleep(3.5)
        return Complete()

    # a third of the lock is the rhythm of its extensions: long enough for a busy machine to miss one
    async with working(gateway, long, lock=1.5, limit=10.0):
        [key] = create(gateway)
        await until(lambda: gateway.ledger.ended == 1)
    assert gateway.ledger.stories[key].deliveries == 1


async def test_blocking_handlers_run_in_threads_with_the_callers_context(gateway: FaultyGateway) -> None:
    names: set[str] = set()
    places: set[str] = set()
    where = contextvars.ContextVar("where", default="nowhere")
    where.set("here")

    def block(_job: Job) -> Outcome:
        names.add(threading.current_thread().name)
        places.add(where.get())
        return Complete()

    async with working(gateway, blocking(block, threads=2)):
        create(gateway, 10)
        await until(lambda: gateway.ledger.ended == 10)
    assert names
    assert all(name.startswith("block") for name in names)
    assert places == {"here"}


async def test_a_loop_that_hangs_turns_liveness_red(
    gateway: FaultyGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = Timings(long_poll=3600, poll_grace=3600)
    gateway.faults.switch(Rule(Hang(), frozenset({Method.ACTIVATE}), 1.0))
    handler = JobHandler(TYPE, (), done)
    channel, stop = open_channel(Plaintext(gateway.address)), asyncio.Event()
    worker = Worker(channel, [handler], WorkerOptions("w", random.Random(1), timings=never))
    monkeypatch.setattr(worker, "health", Health(stalled_after=0.2))
    task = asyncio.create_task(worker.run(stop))
    await until(lambda: worker.health.stalled() == [f"poll {TYPE}"])
    assert worker.health.not_ready()
    stop.set()
    await task
    await channel.close()


async def test_three_episodes_of_refused_tokens_under_load_cost_no_job_and_no_worker(
    gateway: FaultyGateway,
) -> None:
    opened: list[grpc.aio.Channel] = []

    def reopen() -> grpc.aio.Channel:
        gateway.faults.switch()
        opened.append(open_channel(Plaintext(gateway.address)))
        return opened[-1]

    quick = replace(QUICK, renew_at_most_every=0.0)
    events, listener = collected()
    async with on_stage(gateway, JobHandler(TYPE, (), done), listener, reopen=reopen, timings=quick) as stage:
        for episode in range(1, 4):
            create(gateway, 50)
            await until(lambda: gateway.open_streams(TYPE) >= 1)
            # polls and reports are refused, and streams that were pushed to before go on
            gateway.faults.switch(
                Rule(Refuse(grpc.StatusCode.UNAUTHENTICATED), REPORTS | {Method.ACTIVATE}, 1.0)
            )
            create(gateway, 50)
            await until(lambda number=episode: gateway.ledger.ended == 100 * number)  # type: ignore[misc]
            assert not stage.running.done()
            gateway.break_streams()  # the next one is opened on the newest channel, and outlives its renewal
            await until(lambda number=episode: streams_broken(events) >= number)  # type: ignore[misc]
    assert len(opened) >= 3
    assert {story.end for story in gateway.ledger.stories.values()} == {End.COMPLETED}
    assert not [event for event in events if isinstance(event, LoopCrashed)]
    # a channel that is closed under its calls cancels them; each is closed in the end
    assert "CANCELLED" not in {event.status for event in events if isinstance(event, GatewayFailed)}
    assert {channel.get_state() for channel in opened} == {grpc.ChannelConnectivity.SHUTDOWN}


def streams_broken(events: Sequence[RuntimeEvent]) -> int:
    return sum(isinstance(event, GatewayFailed) and event.how == "stream" for event in events)


@pytest.mark.parametrize("error", [ValueError("no certificate"), OSError(24, "Too many open files")])
async def test_a_channel_that_cannot_be_renewed_leaves_the_old_one_at_work(
    gateway: FaultyGateway, error: Exception
) -> None:
    """A certificate's file may be missing for a moment while it is replaced."""
    tried: list[int] = []

    def reopen() -> grpc.aio.Channel:
        tried.append(1)
        raise error

    quick = replace(QUICK, renew_at_most_every=0.0)
    events, listener = collected()
    async with on_stage(gateway, JobHandler(TYPE, (), done), listener, reopen=reopen, timings=quick) as stage:
        create(gateway, 5)
        gateway.faults.switch(Rule(Refuse(grpc.StatusCode.UNAUTHENTICATED), frozenset(Method), 1.0))
        await until(lambda: len(tried) >= 3)
        gateway.faults.switch()
        create(gateway, 5)
        await until(lambda: gateway.ledger.ended == 10)
        assert not stage.running.done()
    failed = [event for event in events if isinstance(event, RenewalFailed)]
    assert {event.error for event in failed} == {type(error).__name__}
    assert not [event for event in events if isinstance(event, LoopCrashed)]


async def test_a_channel_that_closes_under_a_stream_is_a_reconnect(gateway: FaultyGateway) -> None:
    """Whoever owns the channel may close it: the calls on it end cancelled, but nobody asked us to stop."""
    first, second = (open_channel(Plaintext(gateway.address)) for _ in range(2))
    events, listener = collected()
    options = WorkerOptions(
        "w", random.Random(1), reopen=lambda: second, listener=listener, timings=replace(QUICK, long_poll=30)
    )
    stop, worker = (
        asyncio.Event(),
        Worker(
            first,
            [JobHandler(TYPE, (), done, lock=timedelta(seconds=2), time_limit=timedelta(seconds=1))],
            options,
        ),
    )
    running = asyncio.create_task(worker.run(stop))
    await until(lambda: gateway.open_streams(TYPE) == 1)
    await worker._gateway.renew()
    await first.close()
    await until(lambda: sum(isinstance(event, GatewayFailed) for event in events) == 2)
    create(gateway)
    await until(lambda: gateway.ledger.ended == 1)
    assert {event.status for event in events if isinstance(event, GatewayFailed)} == {"CANCELLED"}
    stop.set()
    await running


async def test_a_stopping_worker_lets_a_send_finish_however_short_the_drain(gateway: FaultyGateway) -> None:
    begun, answered = asyncio.Event(), asyncio.Event()

    async def send(_job: Job) -> Outcome:
        begun.set()
        await answered.wait()
        return Complete()

    handler = JobHandler(TYPE, (), send, at_once=1, never_cut_short=True)
    _, listener = collected()
    async with on_stage(gateway, handler, listener, drain=timedelta(milliseconds=10)) as stage:
        await until(lambda: gateway.open_streams(TYPE) == 1)
        [sent, waiting] = create(gateway, 2)
        await until(lambda: begun.is_set() and gateway.ledger.stories[waiting].deliveries == 1)
        stage.stop.set()
        # what has not begun is handed back while the send goes on
        await until(lambda: gateway.store.is_activatable(waiting))
        assert not stage.running.done()
        answered.set()
    assert gateway.ledger.stories[sent].end is End.COMPLETED
    assert gateway.ledger.stories[waiting].end is None
    assert stage.worker.longest_drain(timedelta(seconds=20)) == timedelta(seconds=40)
