"""Opens the database: SQLite in WAL mode, safe under several processes, or PostgreSQL."""

import asyncio
import os
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from persistence.database.addresses import sqlite_url as sqlite_url
from persistence.database.sqlite_connections import SqliteConnections
from persistence.database.trouble import UNREACHABLE, DatabaseError

SQLITE_ENDINGS = ("", "-wal", "-shm", "-journal")
READ_ONLY = "reenvio_read_only"
CONNECTIONS = "reenvio_connections"
CLOSING = timedelta(seconds=10)
LOOK_AGAIN_SECONDS = 0.01
ANSWER_SECONDS = 4.0
"""So long a database may take for the shortest answer; a command that works may take longer."""
ONE_MOMENT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
"""SQLite's write-ahead log gives every reading transaction as much by itself."""
SQLITE_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "cache_size=-65536",  # KiB: the inner pages of a million decisions' indexes fit
    "wal_autocheckpoint=8000",  # pages: a page that many commits touch is written back once
)
POSTGRES_SETTINGS = {
    "application_name": "reenvio",
    "idle_in_transaction_session_timeout": "30000",
    "timezone": "UTC",
}


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """How many connections; how many seconds to wait for one, for a lock, for an answer (None: for ever).

    A wait for a connection or a lock ends before the shortest time limit of a job (2 s), which then says why.
    SQLite needs more patience: who waits there stands in no queue and may be overtaken.
    """

    connections: int = 10
    pool_seconds: float = 1.5
    lock_seconds: float = 1.5
    busy_seconds: float = 3
    connect_seconds: float = 5
    command_seconds: float | None = 15


def open_database(url: str, limits: PoolLimits = PoolLimits()) -> AsyncEngine:  # noqa: B008  # frozen
    """An engine for the address; SQLite gets write-ahead logging and immediate transactions."""
    engine = _engine(url, limits)
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", partial(_prepare_sqlite, limits))
        event.listen(engine.sync_engine, "begin", _begin)
        event.listen(engine.sync_engine, "checkin", partial(_keep_none_of_closed, _connections(engine)))
    return engine


async def close_database(engine: AsyncEngine, *, patience: timedelta = CLOSING) -> None:
    """Close it when whoever is at work has given its connection back, and to the end, even when cancelled.

    Whoever does not end in time keeps nobody waiting.
    """
    pool, until = engine.pool, time.monotonic() + patience.total_seconds()
    try:
        while isinstance(pool, QueuePool) and pool.checkedout() and time.monotonic() < until:  # noqa: ASYNC110  # a pool tells nobody
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
    finally:
        closing = asyncio.ensure_future(_close(engine, patience))
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await asyncio.wait([closing], timeout=patience.total_seconds())
            raise


async def _close(engine: AsyncEngine, patience: timedelta) -> None:
    await engine.dispose()
    await _connections(engine).close(patience.total_seconds())


def looking(engine: AsyncEngine) -> Mapping[str, Any]:
    """The options of a connection that only reads: all its statements see the same moment."""
    return {READ_ONLY: True} | (ONE_MOMENT if engine.dialect.name == "postgresql" else {})


def sqlite_file(url: str) -> Path | None:
    """The SQLite file that the address names; None for any other."""
    return next(iter(sqlite_files(url)), None)


def lacks_file(url: str) -> bool:
    """Whether it is the address of an SQLite file that nobody has made yet; opening it would make it."""
    file = sqlite_file(url)
    try:
        return file is not None and not file.exists()
    except OSError:
        return False  # opening it tells what is wrong


def sqlite_files(url: str) -> tuple[Path, ...]:
    """The files of an SQLite database, its own first; none for any other address."""
    try:
        parsed = make_url(url)
        name = parsed.database or ":memory:"
        is_file = parsed.get_backend_name() == "sqlite" and not name.startswith((":memory:", "file:"))
    except (SQLAlchemyError, ValueError):
        return ()  # opening it tells what is wrong
    return tuple(Path(name + ending) for ending in SQLITE_ENDINGS) if is_file else ()


async def answers(engine: AsyncEngine) -> bool:
    """Whether the database answers a question right now; for readiness, which waits for no silent one."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS), engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
    except UNREACHABLE:
        return False
    return True


def _engine(url: str, limits: PoolLimits) -> AsyncEngine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database:
            _make_sqlite(sqlite_files(url))
            sqlite3.connect(parsed.database).close()  # the driver's thread would only print a traceback
        connections = SqliteConnections()
        return create_async_engine(
            parsed,
            hide_parameters=True,  # errors must not quote values
            pool_size=limits.connections,
            max_overflow=0,
            pool_timeout=limits.pool_seconds,
            connect_args=_connect_arguments(parsed, limits, connections),
            execution_options={CONNECTIONS: connections},
        )
    except (SQLAlchemyError, sqlite3.Error, ImportError, OSError, ValueError) as error:
        raise DatabaseError(
            f"The database cannot be opened ({type(error).__name__}): {_form(url)}"
        ) from error


def _form(url: str) -> str:
    """How to write the address; never the address itself, it may hold a password."""
    if url.startswith("postgres"):
        return "write DATABASE_URL as postgresql+asyncpg://USER:PASSWORD@HOST/DATABASE, with that driver."
    return (
        "set DATABASE_URL to an address such as sqlite+aiosqlite:////folder/reenvio.db, or unset it for an "
        "SQLite file of our own."
    )


def _make_sqlite(files: tuple[Path, ...]) -> None:
    """Make the file for its owner only; SQLite gives its companions the same rights.

    A file that is there is not opened: closing it would end the locks that SQLite holds on it for this
    process, and the next program to look would take the log of a database in use away.
    """
    for file in files[:1]:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _connect_arguments(url: URL, limits: PoolLimits, connections: SqliteConnections) -> dict[str, Any]:
    if url.get_driver_name() == "aiosqlite":
        return {"async_creator_fn": connections.connect}
    if url.get_driver_name() != "asyncpg":
        return {}
    waits = {
        "lock_timeout": str(_millis(limits.lock_seconds)),
        "statement_timeout": str(_millis(limits.command_seconds or 0)),
    }
    return {
        "timeout": limits.connect_seconds,
        "command_timeout": limits.command_seconds,
        "server_settings": POSTGRES_SETTINGS | waits,
    }


def _prepare_sqlite(limits: PoolLimits, connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver would otherwise begin transactions by itself
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={_millis(limits.busy_seconds)}", *SQLITE_PRAGMAS):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _keep_none_of_closed(connections: SqliteConnections, connection: object, record: Any) -> None:
    """Whoever comes late opens a connection of a closed database, and leaves it to nobody."""
    if connections.are_closed and connection is not None:
        record.invalidate()


def _connections(engine: AsyncEngine) -> SqliteConnections:
    kept = engine.get_execution_options().get(CONNECTIONS)
    return kept if isinstance(kept, SqliteConnections) else SqliteConnections()


def _begin(connection: Connection) -> None:
    # A transaction that reads first and writes later would fail at once when another process writes.
    only_reads = connection.get_execution_options().get(READ_ONLY, False)
    connection.exec_driver_sql("BEGIN" if only_reads else "BEGIN IMMEDIATE")


def _millis(seconds: float) -> int:
    return round(seconds * 1000)
