"""Durable decisions per second on both databases, and what they cost as the database grows.

`python -m tests.bench.durable [--sizes 10000 100000 1000000] [--only sqlite]`
"""

import argparse
import asyncio
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sqlalchemy import Table as SqlTable
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.database import open_database
from persistence.idempotency import OperationKey, Terms
from persistence.store import Store
from persistence.tables import audit_events, claim_events, idempotency_records, outbox, retry_decisions
from tests.bench.databases import postgresql_database, sqlite_database
from tests.contract.persistence.builders import NOW, draft, later

SEED = 10_000
"""How many decisions are recorded one by one; larger databases are copies of these under other names."""
AT_ONCE = 50
MEASURED = 2_000
LOOKUPS = 300
CLEANED = 500
GROWN = (retry_decisions, audit_events, outbox, claim_events, idempotency_records)
DATABASES = {"sqlite": sqlite_database, "postgresql": postgresql_database}
_numbers = count(10_000)


@dataclass(frozen=True, slots=True)
class Cost:
    """What things cost at one size."""

    size: int
    decisions_per_second: float
    commit_ms: float
    history_ms: float
    clean_up_ms: float


async def decisions(store: Store, number: int) -> float:
    """Record decisions, so many at once; decisions per second."""
    waiting = iter([draft(f"CLM-N-{next(_numbers)}") for _ in range(number)])
    began = time.perf_counter()

    async def worker() -> None:
        for one in waiting:
            await store.record(one)

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return number / (time.perf_counter() - began)


async def seed(store: Store) -> None:
    """The first decisions and as many idempotency records, honestly recorded."""
    await decisions(store, SEED)
    terms = Terms(lease=timedelta(minutes=4))
    async with store.transaction() as tx:
        for number in range(SEED):
            key = OperationKey(str(number), "Task", "submit_claim", {})
            await tx.idempotency.begin(key, terms, now=later(seconds=number))


async def grow(engine: AsyncEngine, copies: range) -> None:
    """Copy the seed under new names."""
    async with engine.begin() as connection:
        for table in GROWN:
            for copy in copies:
                await connection.execute(text(_copy(table, copy)))
    await settle(engine)


async def settle(engine: AsyncEngine) -> None:
    """Let the database write back what growing left behind; that is not what is measured."""
    if engine.dialect.name == "sqlite":
        await asyncio.to_thread(_settle_file, str(engine.url.database))
        return
    async with engine.connect() as opened_:
        connection = await opened_.execution_options(isolation_level="AUTOCOMMIT")
        for command in ("SET statement_timeout = 0", "VACUUM ANALYZE", "CHECKPOINT"):
            await connection.execute(text(command))


def _settle_file(file: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("ANALYZE")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _copy(table: SqlTable, copy: int) -> str:
    renamed = {
        "claim_id": f"claim_id || '-{copy}'",
        "idempotency_key": f"idempotency_key || '-{copy}'",
        "event_id": f"'{copy:08d}' || substr(event_id, 9)",
    }
    keys = {column.name for column in table.primary_key.columns}
    names = [column.name for column in table.columns if column.name not in keys]
    values = ", ".join(renamed.get(name, name) for name in names)
    seeded = "idempotency_key NOT LIKE '%-%'" if "idempotency_key" in names else "claim_id LIKE 'CLM-N-_____'"
    return f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {values} FROM {table.name} WHERE {seeded}"  # noqa: S608


async def median_ms(times: int, work: Callable[[], Awaitable[object]]) -> float:
    """The median time of some work."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


async def cost(store: Store, size: int, rng: random.Random) -> Cost:
    """Measure at a size."""

    async def history() -> None:
        async with store.reading() as tx:
            await tx.decisions.attempts(f"CLM-N-{rng.randrange(10_000, 10_000 + SEED)}")

    async def clean_up() -> None:
        await store.run(lambda tx: tx.idempotency.delete_expired(NOW + timedelta(days=2), CLEANED))

    async def one() -> None:
        await store.record(draft(f"CLM-N-{next(_numbers)}"))

    await decisions(store, 200)
    return Cost(
        size=size,
        decisions_per_second=await decisions(store, MEASURED),
        commit_ms=await median_ms(LOOKUPS, one),
        history_ms=await median_ms(LOOKUPS, history),
        clean_up_ms=await median_ms(3, clean_up),
    )


async def costs(url: str, sizes: Sequence[int]) -> AsyncIterator[Cost]:
    """Grow from size to size, measuring at each."""
    async with opened(url) as engine:
        store, rng, grown = Store(engine), random.Random(1), 1
        await seed(store)
        for size in sizes:
            await grow(engine, range(grown, size // SEED))
            grown = max(grown, size // SEED)
            yield await cost(store, size, rng)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[AsyncEngine]:
    """An engine for as long as the block."""
    engine = open_database(url)
    try:
        yield engine
    finally:
        await engine.dispose()


async def bench(sizes: Sequence[int], names: Sequence[str], console: Console) -> None:
    """Measure each database and print a table."""
    columns = ("stored decisions", "decisions/s", "one decision", "claim history", f"clean-up of {CLEANED}")
    for name in names:
        table = Table(*columns, title=name)
        with tempfile.TemporaryDirectory(prefix="reenvio-durable-") as folder:
            async with DATABASES[name](Path(folder)) as url:
                async for found in costs(url, sizes):
                    times = (found.commit_ms, found.history_ms, found.clean_up_ms)
                    row = f"{found.size:,}", f"{found.decisions_per_second:,.0f}"
                    table.add_row(*row, *(f"{value:.2f} ms" for value in times))
        console.print(table)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--only", choices=DATABASES, action="append")
    given = parser.parse_args()
    asyncio.run(bench(given.sizes, given.only or list(DATABASES), Console()))


if __name__ == "__main__":
    main()
