"""Full, locked or busy, with ten jobs at once: no retry is spent, readiness is red, all recovers alone."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from bpmn.names import JobType
from persistence.database.engine import PoolLimits, close_database, open_database, sqlite_url
from persistence.migrations import migrate
from persistence.store import BELIEVED_SECONDS, Store
from tests.support.builders import NOW, draft
from tests.support.databases import SEALS, Postgres
from tests.support.services import services
from tests.support.waiting import eventually
from workers.jobs import all_handlers
from workers.runtime import Complete, Job, Outcome, Postpone
from workers.runtime.executor import run_handler

JOB_TYPE = "retry-submission-backoff"  # the shortest time limit of all
JOBS = range(1, 11)
PATIENCE_SECONDS = 60
NO_ROOM = """CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$"""
WRITTEN = ("retry_decisions", "idempotency_records")


class Watch:
    """The monotonic clock, which tests put forward."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self._ahead

    def put_forward(self, seconds: float = BELIEVED_SECONDS) -> None:
        self._ahead += seconds


@pytest.fixture
def watch() -> Watch:
    return Watch()


@asynccontextmanager
async def opened(url: str, limits: PoolLimits = PoolLimits()) -> AsyncIterator[AsyncEngine]:  # noqa: B008  # frozen
    engine = open_database(url, limits)
    try:
        yield engine
    finally:
        await close_database(engine)


@asynccontextmanager
async def locked(url: str) -> AsyncIterator[None]:
    """Somebody else writes and does not end."""
    async with opened(url) as other, other.begin() as holder:
        if other.dialect.name == "postgresql":
            await holder.execute(text("LOCK TABLE retry_decisions IN ACCESS EXCLUSIVE MODE"))
        yield


async def delivered(store: Store) -> Sequence[Outcome]:
    """Ten jobs at once, as the runtime runs them."""
    handlers = all_handlers(services(store))
    [handler] = [handler for handler in handlers if handler.type == JOB_TYPE]
    return await asyncio.gather(*(run_handler(handler, job(key)) for key in JOBS))


def job(key: int) -> Job:
    variables = {"claimId": f"CLM-T-{key}", "submissionError": "TIMEOUT", "retryCount": 0}
    return Job(key, JOB_TYPE, "Task", key, 3, {}, variables)


async def all_postponed(store: Store) -> set[str]:
    """Every job is given back at no cost; what they say."""
    outcomes = await delivered(store)
    assert [type(outcome) for outcome in outcomes] == [Postpone] * len(JOBS)
    return {outcome.message for outcome in outcomes if isinstance(outcome, Postpone)}


async def all_completed(store: Store, watch: Watch) -> None:
    """A machine so busy that the database is late puts jobs off once more, as it should: they come again."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while [type(one) for one in await delivered(store)] != [Complete] * len(JOBS):
            watch.put_forward()
    assert await store.trouble() is None


def test_the_database_gives_up_waiting_before_a_job_does(tmp_path: Path) -> None:
    store = Store(open_database(sqlite_url(tmp_path / "unopened.db")))
    handlers = all_handlers(services(store))
    shortest = min(handler.time_limit.total_seconds() for handler in handlers)
    assert max(PoolLimits().lock_seconds, PoolLimits().pool_seconds) < shortest


async def test_a_lock_that_somebody_holds(url: str, watch: Watch, kind: str) -> None:
    # SQLite waits longer than the job does, which then cannot tell why
    said = "does not answer" if kind == "sqlite" else "Somebody else holds"
    async with opened(url) as engine:
        store = Store(engine, SEALS, seconds=watch)
        async with locked(url):
            await all_postponed(store)
            assert said in (await store.trouble() or "")
        watch.put_forward()
        assert await store.trouble() is None
        await all_completed(store, watch)


async def test_a_pool_without_a_free_connection(url: str, watch: Watch) -> None:
    async with opened(url) as engine:
        store = Store(engine, SEALS, seconds=watch)
        async with AsyncExitStack() as stack:
            for _ in range(PoolLimits().connections):
                await stack.enter_async_context(store.reading())
            await all_postponed(store)
            assert await store.trouble()
        watch.put_forward()
        assert await store.trouble() is None
        await all_completed(store, watch)


async def test_variables_that_are_read_by_the_record_cost_no_retry_while_all_connections_are_busy(
    url: str,
) -> None:
    """Before its handler runs, an error among a job's variables is looked up in our record of the claim."""
    variables = {"claimId": "CLM-T-1", "reviewReason": "PERMANENT_ERROR", "submissionError": "TIMEOUT"}
    async with opened(url, PoolLimits(connections=1, pool_seconds=0.05)) as engine:
        store = Store(engine, SEALS)
        handlers = all_handlers(services(store))
        [review] = [handler for handler in handlers if handler.type == JobType.OPEN_REVIEW]
        async with store.reading():
            outcome = await run_handler(review, Job(1, review.type, "Task", 1, 3, {}, variables))
    assert isinstance(outcome, Postpone)
    assert "connections to the database are busy" in outcome.message


async def test_a_full_disk_of_postgresql(postgres: Postgres, watch: Watch) -> None:
    """By triggers that give PostgreSQL's own error for it: a disk of the server cannot be filled here."""
    name = "reenvio_full"
    async with opened(await postgres.create(name, postgres.template)) as engine:
        store = Store(engine, SEALS, seconds=watch)
        await execute(engine, NO_ROOM, *(f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} "
                                         "EXECUTE FUNCTION no_room()" for table in WRITTEN))  # fmt: skip
        await stays_full(store, watch)
        await execute(engine, *(f"DROP TRIGGER full_disk ON {table}" for table in WRITTEN))
        await has_room_again(store, watch)
    await postgres.drop(name)


async def test_a_full_disk_of_sqlite(tmp_path: Path, watch: Watch) -> None:
    """By SQLite's own limit of pages, which it reports as a full disk."""
    async with opened(sqlite_url(tmp_path / "small.db")) as engine:
        await migrate(engine)
        pages = [await scalar(engine, "PRAGMA page_count") + 4]
        event.listen(
            engine.sync_engine, "checkout", lambda connection, *_: limit_pages(connection, pages[-1])
        )
        store = Store(engine, SEALS, seconds=watch)
        await stays_full(store, watch)
        pages.append(pages[0] + 10_000)
        await has_room_again(store, watch)


async def stays_full(store: Store, watch: Watch) -> None:
    [said] = await all_postponed(store)
    assert "disk is full" in said
    assert await store.answers()
    assert "disk is full" in (await store.trouble() or "")
    watch.put_forward()
    assert "disk is full" in (await store.trouble() or ""), (
        "believed to be over without a write that shows it"
    )


async def has_room_again(store: Store, watch: Watch) -> None:
    """A worker that gets no further job finds out by itself, and leaves nothing behind."""
    watch.put_forward()
    assert await store.trouble() is None
    async with store.reading() as tx:
        assert await tx.idempotency.find_by_process_instance("") == []
    await all_completed(store, watch)


async def test_a_database_that_says_nothing_within_the_time_of_a_job(url: str, watch: Watch) -> None:
    """What was asked is done when it answers at last, and shows that it does."""
    async with opened(url, PoolLimits(lock_seconds=60, busy_seconds=60)) as engine:
        store = Store(engine, SEALS, seconds=watch)
        async with locked(url):
            [said] = await all_postponed(store)
            assert "did not answer within 2 s" in said
            assert store.refuses()
        await eventually(lambda: well(store))
        await all_completed(store, watch)
        async with store.reading() as tx:
            assert [problem async for problem in tx.verification.problems(NOW)] == []
            assert tx.verification.tally.decisions == len(JOBS)


async def test_a_commit_that_nobody_waits_for_any_more_tells_why_it_was_refused(postgres: Postgres) -> None:
    name = "reenvio_left"
    url = await postgres.create(name, postgres.template)
    async with opened(url) as engine:
        store = Store(engine, SEALS)

        async def told() -> bool:
            return "Somebody else holds" in (await store.trouble() or "")

        async with locked(url):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(store.record(draft("CLM-T-1")), 0.05)
            assert not await told()
            await eventually(told)
    await postgres.drop(name)


async def well(store: Store) -> bool:
    return await store.trouble() is None


def limit_pages(connection: Any, pages: int) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA max_page_count = {pages}")
    cursor.close()


async def scalar(engine: AsyncEngine, question: str) -> int:
    async with engine.connect() as connection:
        return int(await connection.scalar(text(question)) or 0)


async def execute(engine: AsyncEngine, *statements: str) -> None:
    async with engine.begin() as connection:
        for statement in statements:
            await connection.execute(text(statement))
