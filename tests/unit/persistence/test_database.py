"""Opening the database: what cannot be opened is one line of advice."""

from pathlib import Path

import pytest
from sqlalchemy import text

from persistence.database.engine import answers, open_database, sqlite_url
from persistence.database.trouble import DatabaseError


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "oracle+nothing://x",
        "sqlite+aiosqlite:////proc/no/reenvio.db",
        "postgresql+asyncpg://h:x/db",
    ],
)
def test_an_address_that_cannot_be_used_says_which_setting(url: str) -> None:
    with pytest.raises(DatabaseError, match="DATABASE_URL"):
        open_database(url)


async def test_sqlite_survives_a_power_cut_and_several_processes(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "new" / "x.db"))
    async with engine.connect() as connection:
        assert await connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert await connection.scalar(text("PRAGMA synchronous")) == 2
        assert await connection.scalar(text("PRAGMA busy_timeout")) == 3_000
    assert await answers(engine)
    await engine.dispose()


async def test_a_server_that_is_not_there_does_not_answer() -> None:
    engine = open_database("postgresql+asyncpg://nobody@127.0.0.1:1/none")
    assert not await answers(engine)
    await engine.dispose()
