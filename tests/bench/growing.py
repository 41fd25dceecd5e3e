"""Databases of a known size: ten thousand decisions recorded one by one, then copied under other names."""

import asyncio
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta

from sqlalchemy import Table, text
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.database.engine import PoolLimits, close_database, open_database
from persistence.repositories.idempotency import OperationKey, OperationTerms
from persistence.store import Store
from persistence.tables import audit_events, claim_events, idempotency_records, outbox, retry_decisions
from persistence.tables.types import UtcDateTime
from tests.support.builders import draft, later

SEED = 10_000
"""How many decisions are recorded one by one, a second apart."""
AT_ONCE = 50
GROWN = {retry_decisions: 1, audit_events: 6, outbox: 1, claim_events: 1, idempotency_records: 1}
"""The tables, and how many rows each has per decision."""
SHIFTS = {
    "sqlite": "datetime({}, '+{} seconds') || '.000000'",
    "postgresql": "{} + interval '{} seconds'",
}


def claim(copy: int, number: int) -> str:
    """Claims are numbered on, as a hospital does; each copy after the one before."""
    return f"CLM-{copy:04d}-{number:06d}"


def stored_claim(size: int, rng: random.Random) -> str:
    """Any claim of a database of that size."""
    return claim(rng.randrange(size // SEED), rng.randrange(SEED))


async def fill(url: str, size: int) -> None:
    """Bring an empty database to a size, and let it write back what that left behind."""
    engine = open_database(url, PoolLimits(command_seconds=600))
    await _seed(Store(engine))
    shift = SHIFTS[engine.dialect.name]
    copies = [_copy(table, copy, shift) for table in GROWN for copy in range(1, size // SEED)]
    if engine.dialect.name == "postgresql":
        await _grow_server(engine, copies)
    await close_database(engine)
    if engine.dialect.name == "sqlite":
        await asyncio.to_thread(_grow_file, str(engine.url.database), copies)


async def _seed(store: Store) -> None:
    numbers = iter(range(SEED))

    async def worker() -> None:
        for number in numbers:
            await store.record(draft(claim(0, number), now=later(seconds=number)))

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    terms = OperationTerms(lease=timedelta(minutes=4))
    async with store.transaction() as tx:
        for number in range(SEED):
            key = OperationKey(f"{number:016d}", "Task", "submit_claim", {})
            await tx.idempotency.begin(key, terms, now=later(seconds=number))


def _copy(table: Table, copy: int, shift: str) -> str:
    """Copies follow each other in time too: what is oldest lies together, as in life."""
    times = (column.name for column in table.columns if isinstance(column.type, UtcDateTime))
    changed = {name: shift.format(name, copy * SEED) for name in times} | {
        "claim_id": f"'CLM-{copy:04d}' || substr(claim_id, 9)",
        "process_instance_id": f"'{copy:04d}' || substr(process_instance_id, 5)",
        "idempotency_key": f"'{copy:04d}' || substr(idempotency_key, 5)",
        "event_id": f"'{copy:08d}' || substr(event_id, 9)",
    }
    [key] = table.primary_key.columns
    names = [column.name for column in table.columns if column is not key]
    values = ", ".join(changed.get(name, name) for name in names)
    seeded = f"{key.name} <= {SEED * GROWN[table]}"
    return f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {values} FROM {table.name} WHERE {seeded}"  # noqa: S608


async def _grow_server(engine: AsyncEngine, copies: Sequence[str]) -> None:
    async with engine.connect() as opened:
        connection = await opened.execution_options(isolation_level="AUTOCOMMIT")
        for command in ("SET statement_timeout = 0", *copies, "VACUUM ANALYZE", "CHECKPOINT"):
            await connection.execute(text(command))


def _grow_file(file: str, copies: Sequence[str]) -> None:
    quickly = ("journal_mode=OFF", "synchronous=OFF", "cache_size=-2000000")
    with closing(sqlite3.connect(file)) as connection:
        for command in (*(f"PRAGMA {pragma}" for pragma in quickly), *copies, "ANALYZE"):
            connection.execute(command).fetchall()
        connection.commit()
