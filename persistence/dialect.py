"""The few words that SQLite and PostgreSQL spell differently in SQLAlchemy."""

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

Insert = postgresql.Insert | sqlite.Insert


def insert_into(connection: AsyncConnection, table: Table) -> Insert:
    """An INSERT that knows ON CONFLICT."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)
