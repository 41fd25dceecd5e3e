"""Opening the database: what cannot be opened is one line of advice."""

import asyncio
import gc
import random
import sqlite3
import threading
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.database.engine import PoolLimits, answers, close_database, open_database, sqlite_url
from persistence.database.sqlite_connections import SqliteConnection, SqliteConnections
from persistence.database.trouble import DatabaseError

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "oracle+nothing://x",
        "sqlite+aiosqlite:////proc/no/reenvio.db",
        "postgresql+asyncpg://h:x/db",
    ],
)
def test_an_address_that_cannot_be_used_says_which_setting(url: str) -> None:
    with pytest.raises(DatabaseError, match="DATABASE_URL"):
        open_database(url)


async def test_sqlite_survives_a_power_cut_and_several_processes(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "new" / "x.db"))
    async with engine.connect() as connection:
        assert await connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert await connection.scalar(text("PRAGMA synchronous")) == 2
        assert await connection.scalar(text("PRAGMA busy_timeout")) == 3_000
    assert await answers(engine)
    await engine.dispose()


async def test_a_server_that_is_not_there_does_not_answer() -> None:
    engine = open_database("postgresql+asyncpg://nobody@127.0.0.1:1/none")
    assert not await answers(engine)
    await engine.dispose()


async def test_a_database_is_closed_when_whoever_is_at_work_there_has_ended(tmp_path: Path) -> None:
    engine, begun, may_end = open_database(sqlite_url(tmp_path / "x.db")), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        async with engine.begin() as connection:
            await connection.execute(text("CREATE TABLE done (at INTEGER)"))
            begun.set()
            await may_end.wait()

    working = asyncio.create_task(work())
    await begun.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        closing = asyncio.create_task(close_database(engine))
        done, _ = await asyncio.wait([closing], timeout=0.1)
        assert not done
        may_end.set()
        await asyncio.gather(working, closing)
        gc.collect()  # a connection that was left open would be told of here
    assert engine.pool.status().endswith("Current Checked out connections: 0")


async def test_whoever_does_not_end_in_time_keeps_nobody_from_closing(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "x.db"))
    async with engine.connect() as connection:
        await close_database(engine, patience=timedelta(seconds=0.05))
        await connection.invalidate()  # its pool is gone: it would stay open


async def test_a_connection_that_its_pool_has_lost_is_closed_with_the_database(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "x.db"))
    async with engine.connect() as connection:
        await connection.execute(text("SELECT 1"))
        await engine.dispose()  # the connection goes back to a pool that nobody has any more
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await close_database(engine)
        gc.collect()


async def test_who_comes_after_the_end_leaves_no_connection_open(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "x.db"))
    await close_database(engine)
    async with engine.connect() as late:
        assert await late.scalar(text("SELECT 1")) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del engine, late
        gc.collect()


async def test_who_is_cancelled_while_closing_leaves_no_connection_open(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "x.db"))
    for connection in [await engine.connect() for _ in range(3)]:
        await connection.close()
    closing = asyncio.create_task(close_database(engine))
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del engine, connection
        gc.collect()


async def test_a_connection_that_is_stopped_while_it_closes_ends(tmp_path: Path) -> None:
    connections = SqliteConnections()
    connection = connections.connect(str(tmp_path / "x.db"))
    await connection
    closing = asyncio.create_task(connection.close())
    await asyncio.sleep(0)
    connection.stop()  # as for somebody who is cancelled twice
    await asyncio.wait_for(closing, 10)
    await connections.close(10)
    assert connection.has_ended()


def waiting(begun: threading.Event, may_end: threading.Event) -> Callable[[], int]:
    """For a statement that ends when a test says so."""

    def wait() -> int:
        begun.set()
        return int(may_end.wait(10))

    return wait


async def test_a_connection_that_is_stopped_and_then_closed_lets_its_transaction_go(tmp_path: Path) -> None:
    connections, begun, may_end = SqliteConnections(), threading.Event(), threading.Event()
    connection = await connections.connect(str(tmp_path / "x.db"), isolation_level=None)
    await connection.create_function("wait", 0, waiting(begun, may_end))
    held = await connection.execute("BEGIN IMMEDIATE")  # who has failed may hold on to it for long
    working = asyncio.create_task(connection.execute_fetchall("SELECT wait()"))
    await asyncio.to_thread(begun.wait, 10)
    connection.stop()  # as for somebody who is cancelled again before the connection begins to close
    with pytest.raises(ValueError, match="closed"):
        await connection.close()
    may_end.set()
    await asyncio.wait([working])
    await connections.close(10)
    with closing(sqlite3.connect(tmp_path / "x.db", timeout=0)) as other:
        other.execute("BEGIN IMMEDIATE")
    del held


@pytest.fixture
def no_garbage_is_collected() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_is_collected")
async def test_a_write_that_is_cancelled_lets_the_database_go_at_once(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "x.db"))
    begun, may_end = threading.Event(), threading.Event()

    async def work() -> None:
        async with engine.begin() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            assert isinstance(driver, SqliteConnection)
            await driver.create_function("wait", 0, waiting(begun, may_end))
            await connection.execute(text("CREATE TABLE done (at INTEGER)"))
            await connection.execute(text("SELECT wait()"))

    async def cancelled() -> None:
        working = asyncio.create_task(work())
        await asyncio.to_thread(begun.wait, 10)
        working.cancel()
        may_end.set()
        with suppress(asyncio.CancelledError):
            await working

    await cancelled()
    with closing(sqlite3.connect(tmp_path / "x.db", timeout=0)) as other:
        other.execute("BEGIN IMMEDIATE")
    await close_database(engine)


@pytest.mark.parametrize(
    ("driver", "version"), [("aiosqlite", "0.22.0"), ("sqlalchemy", "2.0.36"), ("sqlalchemy", "2.1.0")]
)
def test_no_driver_is_asked_for_that_the_database_cannot_be_closed_with(driver: str, version: str) -> None:
    """They cannot be stopped, have no pool, or lose the pool's places to whoever is cancelled twice."""
    asked = map(Requirement, tomllib.loads(PYPROJECT.read_text())["project"]["dependencies"])
    [specifier] = [one.specifier for one in asked if one.name == driver]
    assert not specifier.contains(version)


async def test_whoever_is_cancelled_again_and_again_takes_no_place_of_the_pool_along(tmp_path: Path) -> None:
    few, chance = PoolLimits(connections=4, busy_seconds=0.2), random.Random(7)
    engine = open_database(sqlite_url(tmp_path / "x.db"), few)
    for _ in range(60):
        await asyncio.gather(*(_cancelled(engine, chance) for _ in range(6)))
    assert engine.pool.status().endswith("Current Checked out connections: 0")
    await close_database(engine)


async def _cancelled(engine: AsyncEngine, chance: random.Random) -> None:
    """As a job is by its time limit and by a worker that stops."""

    async def work() -> None:
        async with engine.begin() as connection:
            await connection.execute(text("CREATE TABLE IF NOT EXISTS done (at INTEGER)"))
            await asyncio.sleep(chance.random() * 0.003)
            await connection.execute(text("SELECT count(*) FROM done"))

    working = asyncio.create_task(work())
    for _ in range(chance.choice((1, 2, 3))):
        await asyncio.sleep(chance.random() * 0.004)
        working.cancel()
    await asyncio.wait([working])
