"""The schema: what the migrations make is what the code expects, up and down."""

from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.database import open_database, sqlite_url
from persistence.migrations import alembic_config, is_current, migrate
from persistence.tables import metadata


async def test_the_migrated_schema_is_the_declared_one(database: AsyncEngine) -> None:
    def drift(connection: Connection) -> object:
        return compare_metadata(MigrationContext.configure(connection), metadata)

    async with database.connect() as connection:
        assert await connection.run_sync(drift) == []


async def test_every_revision_goes_up_down_and_up_again(tmp_path: Path) -> None:
    def climb(connection: Connection) -> None:
        config = alembic_config(connection)
        for revision in reversed(list(ScriptDirectory.from_config(config).walk_revisions())):
            command.upgrade(config, revision.revision)
            command.downgrade(config, "-1")
            command.upgrade(config, revision.revision)

    engine = open_database(sqlite_url(tmp_path / "stairs.db"))
    async with engine.begin() as connection:
        await connection.run_sync(climb)
    assert await is_current(engine)
    await engine.dispose()


async def test_migrating_twice_changes_nothing(database: AsyncEngine) -> None:
    await migrate(database)
    async with database.connect() as connection:
        tables = await connection.run_sync(lambda c: set(inspect(c).get_table_names()))
    assert tables == set(metadata.tables) | {"alembic_version"}


async def test_an_empty_database_is_not_current(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "empty.db"))
    assert not await is_current(engine)
    await engine.dispose()
