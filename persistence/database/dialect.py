"""What SQLite and PostgreSQL spell differently in SQLAlchemy."""

from collections.abc import Collection
from typing import TypeVar

from sqlalchemy import Column, ColumnElement, Table, any_, func, literal, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

Insert = postgresql.Insert | sqlite.Insert
Value = TypeVar("Value")


def insert_into(connection: AsyncConnection, table: Table) -> Insert:
    """An INSERT that knows ON CONFLICT."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)


def among(
    connection: AsyncConnection, column: Column[Value], values: Collection[Value]
) -> ColumnElement[bool]:
    """Whether a column has one of the values; PostgreSQL prepares one statement for any number of them."""
    if connection.dialect.name == "postgresql":
        return column == any_(literal(list(values), postgresql.ARRAY(column.type)))
    return column.in_(values)


async def one_at_a_time(connection: AsyncConnection, key: int) -> None:
    """Wait for whoever else holds the key, until the transaction ends; SQLite writes one at a time anyway."""
    if connection.dialect.name == "postgresql":
        await connection.execute(select(func.pg_advisory_xact_lock(key)))
