"""Indexes on tables that workers write to: PostgreSQL builds and drops them without stopping anyone."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op


def create_index(
    name: str, table: str, columns: Sequence[str], *, where: str | None = None, unique: bool = False
) -> None:
    """Build an index, in place of what has its name: an older one, or the ruin of an interrupted build.

    It is committed at once, so it comes first in its revision, where it can be done again.
    """
    condition = None if where is None else sa.text(where)
    with _beside_workers():
        op.drop_index(name, table, if_exists=True, postgresql_concurrently=True)
        op.create_index(
            name,
            table,
            list(columns),
            unique=unique,
            postgresql_concurrently=True,
            postgresql_where=condition,
            sqlite_where=condition,
        )


def drop_index(name: str, table: str) -> None:
    """Drop an index, if it is there; committed at once, as above."""
    with _beside_workers():
        op.drop_index(name, table, if_exists=True, postgresql_concurrently=True)


@contextmanager
def _beside_workers() -> Iterator[None]:
    context = op.get_context()
    if context.dialect.name != "postgresql":
        yield
        return
    with context.autocommit_block():
        op.execute("SET lock_timeout = 0")  # it waits for transactions, and nobody waits for it
        try:
            yield
        finally:
            op.execute("RESET lock_timeout")
