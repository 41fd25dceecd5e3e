"""The schema: what the migrations make is what the code expects, up and down, on both databases."""

import asyncio
import sys
from collections.abc import AsyncIterator

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.database import open_database
from persistence.migrations import alembic_config, is_current, migrate
from persistence.store import Store
from persistence.tables import metadata
from tests.contract.persistence.builders import draft


@pytest.fixture
async def empty(empty_url: str) -> AsyncIterator[AsyncEngine]:
    engine = open_database(empty_url)
    yield engine
    await engine.dispose()


async def test_the_migrated_schema_is_the_declared_one(database: AsyncEngine) -> None:
    def drift(connection: Connection) -> object:
        return compare_metadata(MigrationContext.configure(connection), metadata)

    async with database.connect() as connection:
        assert await connection.run_sync(drift) == []


async def test_every_revision_goes_up_down_and_up_again(empty: AsyncEngine) -> None:
    def climb(connection: Connection) -> None:
        config = alembic_config(connection)
        for revision in reversed(list(ScriptDirectory.from_config(config).walk_revisions())):
            command.upgrade(config, revision.revision)
            command.downgrade(config, "-1")
            command.upgrade(config, revision.revision)

    async with empty.begin() as connection:
        await connection.run_sync(climb)
    assert await is_current(empty)


async def test_everything_can_be_taken_back(empty: AsyncEngine) -> None:
    await migrate(empty)
    async with empty.begin() as connection:
        await connection.run_sync(lambda c: command.downgrade(alembic_config(c), "base"))
        left = await connection.run_sync(lambda c: set(inspect(c).get_table_names()))
    assert left == {"alembic_version"}


async def test_migrating_twice_changes_nothing(database: AsyncEngine) -> None:
    await migrate(database)
    async with database.connect() as connection:
        tables = await connection.run_sync(lambda c: set(inspect(c).get_table_names()))
    assert tables == set(metadata.tables) | {"alembic_version"}


MIGRATE = """
import asyncio, sys
from persistence.database import open_database
from persistence.migrations import migrate
asyncio.run(migrate(open_database(sys.argv[1])))
"""


async def test_two_that_migrate_at_once_do_not_disturb_each_other(empty: AsyncEngine, empty_url: str) -> None:
    command_line = (sys.executable, "-c", MIGRATE, empty_url)
    both = [await asyncio.create_subprocess_exec(*command_line) for _ in range(2)]
    assert [await child.wait() for child in both] == [0, 0]
    assert await is_current(empty)


async def test_migrating_again_keeps_what_a_worker_writes_meanwhile(database: AsyncEngine) -> None:
    store = Store(database)
    await asyncio.gather(migrate(database), *(store.record(draft(f"CLM-9-{n}")) for n in range(20)))
    async with database.connect() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM retry_decisions")) == 20


async def test_an_empty_database_is_not_current(empty: AsyncEngine) -> None:
    assert not await is_current(empty)
