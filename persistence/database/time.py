"""The database's own time."""

from datetime import UTC, datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

_QUESTION = {
    "postgresql": text("SELECT clock_timestamp()"),
    "sqlite": text("SELECT strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')"),
}


async def database_time(connection: AsyncConnection) -> datetime:
    """What time it is there; SQLite has the clock of the machine that its file is on."""
    said = await connection.scalar(_QUESTION[connection.dialect.name])
    return (said if isinstance(said, datetime) else datetime.fromisoformat(str(said))).astimezone(UTC)
