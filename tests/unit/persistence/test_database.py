"""Opening the database: what cannot be opened is one line of advice."""

import asyncio
import gc
import warnings
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from persistence.database.engine import answers, close_database, open_database, sqlite_url
from persistence.database.sqlite_connections import SqliteConnections
from persistence.database.trouble import DatabaseError


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
