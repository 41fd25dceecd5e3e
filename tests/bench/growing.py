"""Databases of a known size: ten thousand decisions recorded one by one, then copied under other names."""

import asyncio
import random
import sqlite3
from contextlib import closing
from datetime import timedelta

from sqlalchemy import Table, text
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.database import Limits, open_database
from persistence.idempotency import OperationKey, Terms
from persistence.store import Store
from persistence.tables import audit_events, claim_events, idempotency_records, outbox, retry_decisions
from tests.contract.persistence.builders import draft, later

SEED = 10_000
"""How many decisions are recorded one by one, a second apart."""
AT_ONCE = 50
GROWN = (retry_decisions, audit_events, outbox, claim_events, idempotency_records)


def stored_claim(size: int, rng: random.Random) -> str:
    """Any claim of a database of that size."""
    number, copy = rng.randrange(SEED), rng.randrange(size // SEED)
    return f"CLM-N-{SEED + number}" + (f"-{copy}" if copy else "")


async def fill(url: str, size: int) -> None:
    """Bring an empty database to a size, and let it write back what that left behind."""
    engine = open_database(url, Limits(command_seconds=600))
    await _seed(Store(engine))
    async with engine.begin() as connection:
        if engine.dialect.name == "sqlite":  # a copy touches pages all over the indexes
            await connection.execute(text("PRAGMA cache_size=-2000000"))
        for table in GROWN:
            for copy in range(1, size // SEED):
                await connection.execute(text(_copy(table, copy)))
    await _settle(engine)
    await engine.dispose()


async def _seed(store: Store) -> None:
    numbers = iter(range(SEED))

    async def worker() -> None:
        for number in numbers:
            await store.record(draft(f"CLM-N-{SEED + number}", now=later(seconds=number)))

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    terms = Terms(lease=timedelta(minutes=4))
    async with store.transaction() as tx:
        for number in range(SEED):
            key = OperationKey(str(number), "Task", "submit_claim", {})
            await tx.idempotency.begin(key, terms, now=later(seconds=number))


def _copy(table: Table, copy: int) -> str:
    renamed = {name: f"{name} || '-{copy}'" for name in ("claim_id", "idempotency_key")}
    renamed |= {"event_id": f"'{copy:08d}' || substr(event_id, 9)"}
    keys = {column.name for column in table.primary_key.columns}
    names = [column.name for column in table.columns if column.name not in keys]
    values = ", ".join(renamed.get(name, name) for name in names)
    seeded = "idempotency_key NOT LIKE '%-%'" if "idempotency_key" in names else "claim_id LIKE 'CLM-N-_____'"
    return f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {values} FROM {table.name} WHERE {seeded}"  # noqa: S608


async def _settle(engine: AsyncEngine) -> None:
    if engine.dialect.name == "sqlite":
        await asyncio.to_thread(_settle_file, str(engine.url.database))
        return
    async with engine.connect() as opened:
        connection = await opened.execution_options(isolation_level="AUTOCOMMIT")
        for command in ("SET statement_timeout = 0", "VACUUM ANALYZE", "CHECKPOINT"):
            await connection.execute(text(command))


def _settle_file(file: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("ANALYZE")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
