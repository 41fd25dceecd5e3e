"""The database away, full or broken: jobs wait at no cost while that may pass, and all recovers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from gateways.clock import WallClock
from persistence.database.engine import PoolLimits, close_database, open_database, sqlite_url
from persistence.database.trouble import DatabaseError, has_waited, may_pass
from persistence.store import Store
from tests.support.database_cable import Cable
from tests.support.databases import SEALS, Postgres, prepare
from tests.support.services import services
from workers.app.measuring import readiness
from workers.app.telemetry.gauges import Gauges
from workers.jobs import all_handlers
from workers.runtime import Complete, Fail, Job, JobHandler, Outcome, Postpone


def job(key: int, retries: int = 3) -> Job:
    variables = {"claimId": f"CLM-T-{key}", "submissionError": "TIMEOUT", "retryCount": 0}
    return Job(key, "analyze-retry", "Task", key, retries, {}, variables)


def handler(store: Store) -> JobHandler:
    handlers = all_handlers(services(store))
    return next(handler for handler in handlers if handler.type == "analyze-retry")


async def decided(store: Store, key: int, retries: int = 3) -> Outcome:
    return await handler(store).handle(job(key, retries))


@asynccontextmanager
async def opened(url: str, limits: PoolLimits) -> AsyncIterator[AsyncEngine]:
    engine = open_database(url, limits)
    try:
        yield engine
    finally:
        await close_database(engine)


@pytest.fixture
async def cable(postgres: Postgres) -> AsyncIterator[Cable]:
    name = "reenvio_cable"
    laid = Cable(await postgres.create(name, postgres.template))
    await laid.mend()
    yield laid
    await laid.cut()
    await postgres.drop(name)


async def test_a_database_that_went_away_comes_back_without_a_restart(cable: Cable) -> None:
    async with opened(cable.url, PoolLimits()) as engine:
        store = Store(engine, SEALS)
        assert isinstance(await decided(store, 1), Complete)
        await cable.cut()
        assert not await store.answers()
        failures = [await decided(store, 2, retries) for retries in (3, 2, 1)]
        await cable.mend()
        assert isinstance(await decided(store, 2), Complete)
        assert await store.answers()
    assert all(isinstance(failure, Postpone) for failure in failures)
    assert "DATABASE_URL" in getattr(failures[0], "message", "")


async def test_a_worker_whose_database_is_silent_is_not_ready_until_it_speaks(cable: Cable) -> None:
    gauges = Gauges()
    async with opened(cable.url, PoolLimits()) as engine:
        store = Store(engine, SEALS)
        gauges.add(readiness([store.trouble]))
        ready = []
        for change in (cable.unhush, cable.hush, cable.unhush):
            change()
            await gauges.refresh()
            ready.append([one.value for one in gauges.of("reenvio_ready")])
    assert ready == [[1], [0], [1]]


async def test_sessions_that_the_server_ends_cost_no_retry(postgres: Postgres) -> None:
    name = "reenvio_ended"
    url = await postgres.create(name, postgres.template)
    async with opened(url, PoolLimits()) as engine:
        store = Store(engine, SEALS)
        assert isinstance(await decided(store, 1), Complete)
        await postgres.end_sessions(name)
        assert isinstance(await decided(store, 2), Complete | Postpone)
        assert isinstance(await decided(store, 2), Complete)
    await postgres.drop(name)


async def test_what_waiting_cannot_mend_is_an_incident_after_three(url: str) -> None:
    async with opened(url, PoolLimits()) as engine:
        async with engine.begin() as connection:
            await connection.execute(text("DROP TABLE retry_decisions"))
        failures = [await decided(Store(engine, SEALS), 1, retries) for retries in (3, 2, 1)]
    assert [failure.backoff for failure in failures if isinstance(failure, Fail)] == [
        timedelta(seconds=20), timedelta(seconds=60), timedelta(minutes=5)
    ]  # fmt: skip


async def test_a_full_disk_fails_jobs_until_there_is_room_and_loses_nothing(tmp_path: Path) -> None:
    """By SQLite's own limit of pages, which it reports as a full disk."""
    async with opened(sqlite_url(tmp_path / "small.db"), PoolLimits(connections=1)) as engine:
        await prepare(engine)
        store = Store(engine, SEALS)
        await _limit_pages(engine, "page_count + 4")
        outcomes = [await decided(store, key) for key in range(1, 40)]
        kept = sum(isinstance(outcome, Complete) for outcome in outcomes)
        assert 0 < kept < len(outcomes)
        refusals = [outcome for outcome in outcomes if isinstance(outcome, Postpone)]
        assert len(refusals) == len(outcomes) - kept
        assert "disk is full" in refusals[0].message
        assert "disk is full" in (await store.trouble() or "")
        await _limit_pages(engine, "max_page_count + 10000")
        assert all([isinstance(await decided(store, key), Complete) for key in range(1, 40)])
        async with store.reading() as tx:
            assert [problem async for problem in tx.verification.problems(await WallClock().now())] == []
            assert tx.verification.tally.decisions == len(outcomes)


async def _limit_pages(engine: AsyncEngine, expression: str) -> None:
    async with engine.connect() as connection:
        name, _, more = expression.partition(" + ")
        pages = int(await connection.scalar(text(f"PRAGMA {name}")) or 0) + int(more)
        await connection.execute(text(f"PRAGMA max_page_count = {pages}"))


async def test_a_file_that_is_no_database_is_one_line_of_advice(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"not a database at all" * 100)
    async with opened(f"sqlite+aiosqlite:///{tmp_path}/x.db", PoolLimits()) as engine:
        with pytest.raises(DatabaseError, match="DATABASE_URL"):
            await Store(engine, SEALS).run(lambda tx: tx.claims.all())


async def test_a_statement_that_the_server_gave_up_is_trouble_that_may_pass(postgres: Postgres) -> None:
    url = await postgres.create("reenvio_slow", postgres.template)
    async with opened(url, PoolLimits()) as engine:
        with pytest.raises(DBAPIError) as given_up:
            async with engine.begin() as connection:
                await connection.execute(text("SET LOCAL statement_timeout = 50"))
                await connection.execute(text("SELECT pg_sleep(60)"))
    assert may_pass(given_up.value)
    assert has_waited(given_up.value)
    await postgres.drop("reenvio_slow")


async def test_a_job_that_tells_of_an_error_waits_at_no_cost_too(cable: Cable) -> None:
    async with opened(cable.url, PoolLimits(connect_seconds=2)) as engine:
        handlers = all_handlers(services(Store(engine, SEALS)))
        asked = next(handler for handler in handlers if handler.type == "open-review")
        variables = {"claimId": "CLM-T-1", "reviewReason": "PERMANENT_ERROR", "submissionError": "TIMEOUT"}
        await cable.cut()
        outcome = await asked.handle(Job(1, "open-review", "Task", 1, 3, {}, variables))
    assert isinstance(outcome, Postpone)
