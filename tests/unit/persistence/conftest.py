"""A migrated SQLite database per test."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.database import open_database, sqlite_url
from persistence.migrations import migrate
from persistence.store import Store

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = open_database(sqlite_url(tmp_path / "test.db"))
    await migrate(engine)
    yield engine
    await engine.dispose()


@pytest.fixture
def store(database: AsyncEngine) -> Store:
    return Store(database)
