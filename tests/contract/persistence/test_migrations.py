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

from persistence.database.engine import close_database, open_database
from persistence.database.revision import is_new_enough, newest_revision
from persistence.database.trouble import DatabaseError
from persistence.migrations import alembic_config, migrate
from persistence.tables import claims, metadata
from tests.contract.persistence.filling import counts, fill, tables


@pytest.fixture
async def empty(empty_url: str) -> AsyncIterator[AsyncEngine]:
    engine = open_database(empty_url)
    yield engine
    await close_database(engine)


def drift(connection: Connection) -> object:
    return compare_metadata(MigrationContext.configure(connection), metadata)


def revisions(connection: Connection) -> list[str]:
    script = ScriptDirectory.from_config(alembic_config(connection))
    return [step.revision for step in reversed(list(script.walk_revisions()))]


async def test_the_migrated_schema_is_the_declared_one(database: AsyncEngine) -> None:
    async with database.connect() as connection:
        assert await connection.run_sync(drift) == []


async def test_revisions_count_up(database: AsyncEngine) -> None:
    async with database.connect() as connection:
        names = await connection.run_sync(revisions)
    assert names == [f"{n:04}" for n in range(1, len(names) + 1)]


class Climber:
    """Goes from revision to revision with rows in every table, and sees that all of them stay."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._filled = 0

    def up(self, revision: str) -> None:
        before = self._fill()
        command.upgrade(alembic_config(self._connection), revision)
        assert counts(self._connection).items() >= before.items()

    def down(self) -> None:
        before = self._fill()
        command.downgrade(alembic_config(self._connection), "-1")
        assert before.items() >= counts(self._connection).items()

    def _fill(self) -> dict[str, int]:
        self._filled += 5
        for table in tables(self._connection):
            fill(self._connection, table, range(self._filled, self._filled + 5))
        before = counts(self._connection)
        self._connection.commit()
        return before


async def test_every_revision_goes_up_down_and_up_again_over_rows_that_stay(empty: AsyncEngine) -> None:
    def climb(connection: Connection) -> None:
        climber = Climber(connection)
        for revision in revisions(connection):
            climber.up(revision)
            climber.down()
            climber.up(revision)

    async with empty.connect() as connection:
        await connection.run_sync(climb)
        assert await connection.run_sync(drift) == []
        assert await connection.run_sync(lambda c: revisions(c)[-1]) == newest_revision()
    assert await is_new_enough(empty)


async def test_everything_can_be_taken_back(empty: AsyncEngine) -> None:
    await migrate(empty)
    async with empty.connect() as connection:
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
from persistence.database.engine import open_database
from persistence.migrations import migrate
asyncio.run(migrate(open_database(sys.argv[1])))
"""


async def test_two_that_migrate_at_once_do_not_disturb_each_other(empty: AsyncEngine, empty_url: str) -> None:
    command_line = (sys.executable, "-c", MIGRATE, empty_url)
    both = [await asyncio.create_subprocess_exec(*command_line) for _ in range(2)]
    assert [await child.wait() for child in both] == [0, 0]
    assert await is_new_enough(empty)


async def test_what_an_interrupted_index_build_left_is_replaced(empty: AsyncEngine) -> None:
    await migrate(empty, "0010")
    async with empty.begin() as connection:
        await connection.execute(text("CREATE INDEX ix_claims_payer_id ON claims (reason)"))
    await migrate(empty)
    async with empty.connect() as connection:
        assert await connection.run_sync(drift) == []


async def test_a_table_that_is_never_free_is_told_after_the_last_try(empty: AsyncEngine) -> None:
    await migrate(empty, "0006")
    async with empty.begin() as holder:
        if empty.dialect.name == "postgresql":
            await holder.execute(text("LOCK TABLE retry_decisions IN ACCESS SHARE MODE"))
        with pytest.raises(DatabaseError, match="long transaction"):
            await migrate(empty, "0007", tries=1)


async def test_a_schema_that_is_behind_is_refused(empty: AsyncEngine) -> None:
    assert not await is_new_enough(empty)
    await migrate(empty, "0010")
    assert not await is_new_enough(empty)


async def stamp(database: AsyncEngine, revision: str) -> None:
    async with database.begin() as connection:
        await connection.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))  # noqa: S608


async def test_a_worker_that_starts_after_a_later_versions_migration_serves(database: AsyncEngine) -> None:
    await stamp(database, "0999")
    assert await is_new_enough(database)
    await migrate(database)
    async with database.begin() as connection:
        await connection.run_sync(fill, claims, range(3))
        assert await connection.scalar(text("SELECT version_num FROM alembic_version")) == "0999"


async def test_a_database_of_something_else_is_neither_served_nor_migrated(database: AsyncEngine) -> None:
    await stamp(database, "3f2a9c")
    with pytest.raises(DatabaseError, match="DATABASE_URL"):
        await is_new_enough(database)
    with pytest.raises(DatabaseError, match="DATABASE_URL"):
        await migrate(database)
