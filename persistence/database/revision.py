"""Which schema is here, and is it new enough: asked by every command, so without Alembic."""

from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.database.engine import READ_ONLY
from persistence.database.trouble import DatabaseError, reachable

REVISIONS = Path(__file__).parent.parent / "migrations" / "versions"
DIGITS = 4
BEGINNINGS = "0024"
_TABLE = "alembic_version"


async def is_new_enough(engine: AsyncEngine) -> bool:
    """Whether the schema is at this version's newest revision or at one that only later versions know."""
    with reachable():
        async with engine.connect() as opened:
            connection = await opened.execution_options(**{READ_ONLY: True})
            return await connection.run_sync(present_revision) >= newest_revision()


async def knows_beginnings(engine: AsyncEngine) -> bool:
    """Whether the schema is one whose audit trail has a signed beginning; an older one is to be upgraded."""
    with reachable():
        async with engine.connect() as connection:
            return await connection.run_sync(present_revision) >= BEGINNINGS


def newest_revision() -> str:
    """This version's newest: a file's name begins with its revision."""
    return max(file.name[:DIGITS] for file in REVISIONS.glob(f"{'[0-9]' * DIGITS}_*.py"))


def present_revision(connection: Connection) -> str:
    """Where the schema stands; revisions are numbers that count up, so that the greater is the newer."""
    if not connection.dialect.has_table(connection, _TABLE):
        return ""
    present = max(connection.scalars(text(f"SELECT version_num FROM {_TABLE}")), default="")  # noqa: S608
    if present and not present.isdecimal():
        raise DatabaseError(f"The database is not Reenvio's (its schema is at {present}): see DATABASE_URL.")
    return present
