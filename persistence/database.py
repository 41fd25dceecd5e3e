"""Opens the database: SQLite in WAL mode, safe under several processes, or PostgreSQL."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

SQLITE_BUSY_MS = 10_000


class DatabaseError(Exception):
    """The database cannot be used; the text says why and which setting to look at."""


def sqlite_url(file: Path) -> str:
    """The address of an SQLite file."""
    return f"sqlite+aiosqlite:///{file}"


def open_database(url: str) -> AsyncEngine:
    """An engine for the address; SQLite gets write-ahead logging and immediate transactions."""
    engine = _engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", _prepare_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_immediate)
    return engine


def _engine(url: str) -> AsyncEngine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database:
            Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
            sqlite3.connect(parsed.database).close()  # the driver's thread would only print a traceback
        return create_async_engine(url, hide_parameters=True)  # errors must not quote values
    except (SQLAlchemyError, sqlite3.Error, ImportError, OSError) as error:
        raise DatabaseError(
            f"The database cannot be opened ({type(error).__name__}): set DATABASE_URL to an address such as "
            "sqlite+aiosqlite:////folder/reenvio.db, or unset it for an SQLite file of our own."
        ) from error


@contextmanager
def reachable() -> Iterator[None]:
    """Turn a database that does not answer into one line of advice."""
    try:
        yield
    except (DBAPIError, OSError) as error:
        raise DatabaseError(
            f"The database does not answer ({type(error).__name__}): "
            "see that it runs and that DATABASE_URL is right."
        ) from error


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver would otherwise begin transactions by itself
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={SQLITE_BUSY_MS}", "journal_mode=WAL", "synchronous=NORMAL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    # A transaction that reads first and writes later would fail at once when another process writes.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
