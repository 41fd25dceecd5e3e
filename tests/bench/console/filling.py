"""Rows into either database as fast as its driver takes them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import Column, Table, text
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tests.bench.console.history import HistorySize, Row

CHUNK = 5_000
Tell = Callable[[int], None]


async def fill(database: AsyncEngine, size: HistorySize, tell: Tell) -> None:
    """The whole history, claim by claim; `tell` hears how many there are."""
    for first in range(0, size.claims, CHUNK):
        last = min(first + CHUNK, size.claims)
        kept: dict[Table, list[Row]] = {}
        for number in range(first, last):
            for table, row in size.claim(number).rows():
                kept.setdefault(table, []).append(row)
        async with database.begin() as connection:
            for table, rows in kept.items():
                await put(connection, table, rows)
        tell(last)


async def put(connection: AsyncConnection, table: Table, rows: Sequence[Row]) -> None:
    """Rows of one table: by COPY, or in one command for all."""
    columns = [table.c[name] for name in dict.fromkeys(name for row in rows for name in row)]
    values = _values(connection.dialect, columns, rows)
    names = [column.name for column in columns]
    driver: Any = (await connection.get_raw_connection()).driver_connection
    if connection.dialect.name == "postgresql":
        await driver.copy_records_to_table(table.name, records=values, columns=names)
        return
    holders = ", ".join("?" * len(names))
    await driver.executemany(
        f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({holders})",  # noqa: S608  # our own names
        list(values),
    )


def _values(
    dialect: Dialect, columns: Sequence[Column[Any]], rows: Iterable[Row]
) -> Iterable[tuple[Any, ...]]:
    """As the driver wants them."""
    made = [column.type.dialect_impl(dialect).bind_processor(dialect) or _as_it_is for column in columns]
    names = [column.name for column in columns]
    for row in rows:
        yield tuple(make(row.get(name)) for make, name in zip(made, names, strict=True))


def _as_it_is(value: object) -> object:
    return value


async def settle(database: AsyncEngine) -> None:
    """Statistics as a database of that size has them."""
    async with database.connect() as opened:
        connection: Any = await opened.execution_options(isolation_level="AUTOCOMMIT")
        is_postgresql = database.dialect.name == "postgresql"
        await connection.execute(text("VACUUM ANALYZE" if is_postgresql else "ANALYZE"))
