"""Many rows in one statement."""

from collections.abc import Iterable, Sequence
from functools import cache

from sqlalchemy import Insert, Table, bindparam, func, insert, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.rows import Record, row_of


async def insert_all(connection: AsyncConnection, table: Table, records: Iterable[Record]) -> None:
    """Insert records in their order; PostgreSQL gets each column as one array and plans once for all."""
    rows = list(records)
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        names = tuple(rows[0].__dataclass_fields__)
        await connection.execute(_by_column(table, names), _columns(rows, names))
    else:
        await connection.execute(insert(table), [row_of(row) for row in rows])


def _columns(rows: Sequence[Record], names: Sequence[str]) -> dict[str, list[object]]:
    return {f"all_{name}": [getattr(row, name) for row in rows] for name in names}


@cache
def _by_column(table: Table, names: tuple[str, ...]) -> Insert:
    arrays = (bindparam(f"all_{name}", type_=ARRAY(table.c[name].type)) for name in names)
    return insert(table).from_select(names, select(*map(func.unnest, arrays)))
