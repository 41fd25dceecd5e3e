"""Alembic revisions, run from code: `reenvio migrate`, while workers go on."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from persistence.database.engine import PoolLimits, close_database, open_database
from persistence.database.revision import present_revision
from persistence.database.trouble import DatabaseError, is_locked_out, reachable

Result = TypeVar("Result")
MIGRATORS = 0x5EE0
"""The advisory lock under which migrators queue."""
MIGRATING = PoolLimits(connections=1, lock_seconds=1, command_seconds=None)
"""Its work may take long, but workers queue behind a lock that it waits for, and they give up after 1.5 s."""
TRIES = 120
PAUSE_SECONDS = 1.0


async def migrate(engine: AsyncEngine, revision: str = "head", *, tries: int = TRIES) -> None:
    """Bring the schema up to a revision, each in its own transaction; a newer schema is left alone."""
    migrator = open_database(engine.url.render_as_string(hide_password=False), MIGRATING)
    try:
        with reachable():
            async with migrator.connect() as connection:
                await _be_alone(connection)
                for missing in await _patiently(connection, _missing, revision, tries):
                    await _patiently(connection, _upgrade, missing, tries)
    finally:
        await close_database(migrator)


async def _be_alone(connection: AsyncConnection) -> None:
    """Wait for other migrators, in no transaction: the indexes they build would wait for it.

    On SQLite each revision's transaction shuts all others out.
    """
    if connection.dialect.name != "postgresql":
        return
    ours = text("SELECT pg_try_advisory_lock(:key)")
    while not await connection.scalar(ours, {"key": MIGRATORS}):
        await connection.rollback()
        await asyncio.sleep(PAUSE_SECONDS)
    await connection.rollback()


async def _patiently(
    connection: AsyncConnection, work: Callable[[Connection, str], Result], revision: str, tries: int
) -> Result:
    """Ask again for a lock that others hold; between two tries they get on."""
    for _ in range(tries):
        try:
            return await connection.run_sync(work, revision)
        except DBAPIError as error:
            if not is_locked_out(error):
                raise
        finally:
            await connection.rollback()
        await asyncio.sleep(PAUSE_SECONDS)
    raise DatabaseError(
        "A long transaction keeps a table from being changed: let it end, then run `reenvio migrate` again."
    )


def _missing(connection: Connection, revision: str) -> Sequence[str]:
    """The revisions that are still to come, oldest first."""
    script, present = ScriptDirectory.from_config(alembic_config(connection)), present_revision(connection)
    steps = [step.revision for step in script.walk_revisions("base", revision)]
    return [step for step in reversed(steps) if step > present]


def _upgrade(connection: Connection, revision: str) -> None:
    command.upgrade(alembic_config(connection), revision)


def alembic_config(connection: Connection) -> Config:
    """Alembic's settings for an open connection; no ini file, no address in it."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    return config
