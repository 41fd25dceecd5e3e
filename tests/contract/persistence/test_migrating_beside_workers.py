"""A migration while workers run: they go on, nothing they wrote is lost, and nobody waits for long."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import Connection, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.database.engine import PoolLimits, close_database, open_database
from persistence.database.revision import is_new_enough
from persistence.database.trouble import DatabaseError
from persistence.migrations import MIGRATING, MIGRATORS, migrate
from persistence.tables import retry_decisions
from tests.contract.persistence.filling import fill, tables
from tests.support.databases import Postgres
from tests.support.waiting import eventually

BEFORE = "0027"
"""The newest revision that decisions are content with: the one to which their writer is an old worker."""
WRITER = """
import asyncio, itertools, sys
from persistence.database.engine import open_database
from persistence.database.trouble import DatabaseError, may_pass
from persistence.store import Store
from tests.support.builders import draft

async def write(store, claim):
    while True:
        try:
            await store.record(draft(claim))
            return print(claim, flush=True)
        except DatabaseError as error:
            if not may_pass(error):
                raise

async def main():
    store = Store(open_database(sys.argv[1]))
    for n in itertools.count():
        await asyncio.gather(*(write(store, f"CLM-W{i}-{n}") for i in range(4)))

asyncio.run(main())
"""


@pytest.fixture
async def old(empty_url: str) -> AsyncIterator[AsyncEngine]:
    """A filled database as the version before left it."""
    engine = open_database(empty_url)
    await migrate(engine, BEFORE)
    async with engine.begin() as connection:
        await connection.run_sync(fill_all)
    yield engine
    await close_database(engine)


def fill_all(connection: Connection) -> None:
    for table in tables(connection):
        fill(connection, table, range(2_000))


@pytest.fixture
async def worker(old: AsyncEngine, empty_url: str) -> AsyncIterator[Process]:
    """A process that writes decisions as a worker does, and says which are written."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, empty_url, stdout=PIPE)
    yield child
    if child.returncode is None:
        child.kill()
        await child.wait()


async def written(worker: Process, number: int) -> set[str]:
    assert worker.stdout is not None
    return {(await worker.stdout.readline()).decode().strip() for _ in range(number)}


async def rest(worker: Process) -> set[str]:
    worker.terminate()
    assert worker.stdout is not None
    *lines, _cut = (await worker.stdout.read()).decode().split("\n")
    assert await worker.wait() == -signal.SIGTERM
    return set(lines)


async def test_what_workers_write_while_the_schema_changes_is_all_there(
    old: AsyncEngine, worker: Process
) -> None:
    told = await written(worker, 8)
    await migrate(old)
    told |= await written(worker, 8)
    told |= await rest(worker)
    async with old.connect() as connection:
        kept = set((await connection.execute(select(retry_decisions.c.claim_id))).scalars())
    assert "" not in told
    assert told <= kept
    assert await is_new_enough(old)


@pytest.fixture
async def other(postgres: Postgres) -> AsyncIterator[AsyncEngine]:
    """A PostgreSQL of its own, some revisions behind."""
    name = "reenvio_locked"
    engine = open_database(await postgres.create(name))
    await migrate(engine, "0006")
    yield engine
    await close_database(engine)
    await postgres.drop(name)


async def ask(engine: AsyncEngine, question: str) -> object:
    async with engine.connect() as connection:
        return await connection.scalar(text(question))


async def test_a_migrator_that_waits_for_a_table_lets_workers_pass(other: AsyncEngine) -> None:
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
    async with other.connect() as reader:
        await reader.execute(text("SELECT count(*) FROM retry_decisions"))
        migration = asyncio.create_task(migrate(other, "0007"))
        await eventually(lambda: ask(other, waits))
        assert await ask(other, "SELECT count(*) FROM retry_decisions") == 0
        assert not migration.done()
    await migration
    assert await ask(other, "SELECT version_num FROM alembic_version") == "0007"


async def test_a_migrator_waits_for_another_longer_than_for_any_lock(other: AsyncEngine) -> None:
    async with other.connect() as first:
        await first.execute(text(f"SELECT pg_advisory_lock({MIGRATORS})"))
        migration = asyncio.create_task(migrate(other, "0007"))
        done, _ = await asyncio.wait([migration], timeout=PoolLimits().lock_seconds + 1)
        assert not done
        await first.execute(text(f"SELECT pg_advisory_unlock({MIGRATORS})"))
    await migration
    assert await ask(other, "SELECT version_num FROM alembic_version") == "0007"


async def test_a_migrator_works_as_long_as_it_takes_and_a_worker_does_not(other: AsyncEngine) -> None:
    migrator = open_database(other.url.render_as_string(hide_password=False), MIGRATING)
    assert await ask(migrator, "SHOW statement_timeout") == "0"
    assert await ask(other, "SHOW statement_timeout") == "15s"
    await close_database(migrator)


async def test_each_revision_is_kept_though_a_later_one_fails(other: AsyncEngine) -> None:
    async with other.begin() as connection:
        await connection.execute(text("CREATE TABLE claim_payloads (claim_id text)"))
    with pytest.raises(DatabaseError):
        await migrate(other)
    assert await ask(other, "SELECT version_num FROM alembic_version") == "0008"
