"""KPIs of a whole history, from ten thousand to a million decisions: right to the last digit, and how long.

    .venv/bin/python -m tests.bench.kpi [--sizes 10000 100000 1000000] [--databases sqlite postgresql]

What is timed is what `reenvio kpi --from --to` asks over the whole history (sixty days), over all payers and
for one, and what the daily process counts anew. Each value is compared with plain loops over the same claims.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.kpis.definitions import KPIS
from domain.kpis.periods import Frequency, Period, period_of
from domain.kpis.tally import Counted
from persistence.database.engine import PoolLimits, close_database, open_database
from persistence.store import Store
from tests.bench.databases import postgresql_database, sqlite_database
from tests.support.kpi_counting import Heap, Key, heaps, values
from tests.support.kpi_history import BEGIN, CHUNK, DAYS, PAYERS, Story, keep, stories
from workers.upkeep.kpis import fill_in, take_snapshot

ZONE = ZoneInfo("America/Sao_Paulo")
NOW = BEGIN + timedelta(days=DAYS + 2)
ROUNDS = 5
Opened = Callable[[Path], AbstractAsyncContextManager[str]]
DATABASES: dict[str, Opened] = {"sqlite": sqlite_database, "postgresql": postgresql_database}


def main() -> None:
    """One line per database and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=list(DATABASES))
    given = parser.parse_args()
    print("database    decisions  claims   fill s  whole s  payer s  day s  snapshot s  values compared")
    for name in given.databases:
        for size in given.sizes:
            asyncio.run(_measured(name, size))


async def _measured(name: str, size: int) -> None:
    async with _filled(name, size) as (store, claims, filling):
        whole = Period(BEGIN.astimezone(ZONE).date(), NOW.astimezone(ZONE).date(), ZONE)
        day = period_of(Frequency.DAILY, (BEGIN + timedelta(days=30)).date(), ZONE)
        times = [await _best(store, whole), await _best(store, whole, PAYERS[0]), await _best(store, day)]
        begun = time.perf_counter()
        await take_snapshot(store, ZONE, NOW)
        snapshot = time.perf_counter() - begun
        compared = await _compared(store, heaps(stories(size), ZONE.key))
    shown = "  ".join(f"{seconds:7.3f}" for seconds in times)
    print(
        f"{name:10} {size:>10} {claims:>8} {filling:8.1f}  {shown}  {snapshot:9.2f}  {compared}", flush=True
    )


@asynccontextmanager
async def _filled(name: str, size: int) -> AsyncIterator[tuple[Store, int, float]]:
    with TemporaryDirectory(prefix="reenvio-kpi-") as folder:
        async with DATABASES[name](Path(folder)) as url:
            engine = open_database(url, PoolLimits(command_seconds=600))
            claims = 0
            for told in _chunks(stories(size)):
                await keep(engine, told)
                claims += len(told)
            begun = time.perf_counter()
            await fill_in(Store(engine), NOW)
            filling = time.perf_counter() - begun
            await _settle(engine)
            yield Store(engine), claims, filling
            await close_database(engine)


def _chunks(told: Iterator[Story]) -> Iterator[Sequence[Story]]:
    while chunk := list(islice(told, CHUNK)):
        yield chunk


async def _settle(engine: AsyncEngine) -> None:
    async with engine.connect() as opened:
        connection: Any = await opened.execution_options(isolation_level="AUTOCOMMIT")
        await connection.execute(text("VACUUM ANALYZE" if engine.dialect.name == "postgresql" else "ANALYZE"))


async def _best(store: Store, period: Period, payer: str | None = None) -> float:
    """The middle of a few rounds: all KPIs of one period."""
    taken = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        await store.look(lambda tx: tx.kpis.counted(period, payer))
        taken.append(time.perf_counter() - begun)
    return sorted(taken)[ROUNDS // 2]


async def _compared(store: Store, expected: dict[Key, Heap]) -> int:
    """Every KPI of every day and week, over all and for each payer; how many values were the same."""
    number = 0
    async with store.reading() as tx:
        for frequency in Frequency:
            for first in sorted({key[1] for key in expected if key[0] == frequency}):
                period = period_of(frequency, first, ZONE)
                found: dict[str | None, Counted] = {None: await tx.kpis.counted(period)}
                found.update(dict(await tx.kpis.by_payer(period)).items())
                for payer, counted in found.items():
                    ours = {kpi.name.value: kpi.measure(counted).value for kpi in KPIS}
                    if ours != (theirs := values(expected[frequency.value, first, payer])):
                        raise SystemExit(f"{period.name} {payer}: {ours} is not {theirs}")
                    number += len(ours)
    return number


if __name__ == "__main__":
    main()
