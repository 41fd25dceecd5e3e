"""Alembic revisions, run from code: `reenvio migrate`."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.database import reachable


async def migrate(engine: AsyncEngine, revision: str = "head") -> None:
    """Bring the schema up to a revision."""
    with reachable():
        async with engine.begin() as connection:
            await connection.run_sync(_upgrade, revision)


def _upgrade(connection: Connection, revision: str) -> None:
    command.upgrade(alembic_config(connection), revision)


async def is_current(engine: AsyncEngine) -> bool:
    """Whether the schema is at the newest revision."""
    with reachable():
        async with engine.connect() as connection:
            return await connection.run_sync(_at_head)


def _at_head(connection: Connection) -> bool:
    heads = ScriptDirectory.from_config(alembic_config(connection)).get_heads()
    return set(MigrationContext.configure(connection).get_current_heads()) == set(heads)


def alembic_config(connection: Connection) -> Config:
    """Alembic's settings for an open connection; no ini file, no address in it."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    return config
