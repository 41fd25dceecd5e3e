"""PostgreSQL under the shipped roles: a user of each, beside the owner of the tables."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine

import persistence
from persistence.database.engine import close_database, open_database
from tests.support.databases import Postgres

ROLES = Path(persistence.__file__).with_name("roles.sql")
PASSWORD = "only-for-tests"


@dataclass(frozen=True, slots=True)
class RoleUrls:
    """The same database for the owner, a worker, and who removes."""

    owner: str
    workers: str
    retention: str


async def run_script(engine: AsyncEngine, script: str) -> None:
    """Several statements at once, as psql would."""
    async with engine.begin() as connection:
        raw = await connection.get_raw_connection()
        assert raw.driver_connection is not None
        await raw.driver_connection.execute(script)


@asynccontextmanager
async def with_roles(url: str) -> AsyncIterator[RoleUrls]:
    """Apply the shipped file, and make a user of each role."""
    owner = open_database(url)
    names = {role: f"{role}_user_{os.getpid()}" for role in ("workers", "retention")}
    await run_script(owner, ROLES.read_text(encoding="utf-8"))
    for role, name in names.items():
        await run_script(owner, f"DROP ROLE IF EXISTS {name}")
        await run_script(owner, f"CREATE USER {name} PASSWORD '{PASSWORD}' IN ROLE reenvio_{role}")
    yield RoleUrls(url, *(_as(url, name) for name in names.values()))
    for name in names.values():
        await run_script(owner, f"DROP ROLE {name}")
    await close_database(owner)


def _as(url: str, user: str) -> str:
    return make_url(url).set(username=user, password=PASSWORD).render_as_string(hide_password=False)


@pytest.fixture
async def url_for_workers(postgres: Postgres) -> AsyncIterator[str]:
    """A migrated database of the test's own, for a user of the workers' role."""
    name = f"reenvio_for_workers_{os.getpid()}"
    await postgres.drop(name)
    async with with_roles(await postgres.create(name, postgres.template)) as urls:
        yield urls.workers
    await postgres.drop(name)


def found_in(*modules: ModuleType) -> Iterator[tuple[str, object]]:
    """What pytest would find in modules; helpers stay where they are."""
    for module in modules:
        for name, thing in vars(module).items():
            if name.startswith("test_") or type(thing).__name__ == "FixtureFunctionDefinition":
                yield name, thing
