"""Durable decisions per second on both databases, and what they cost as the database grows.

`python -m tests.bench.durable [--sizes 10000 100000 1000000] [--only sqlite] [--rounds 5]`

Each size has a database of its own, and every round visits all of them, so that what else the machine does
meets each alike.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sqlalchemy import event

from domain.retention import YEAR, Periods
from persistence.database.engine import open_database
from persistence.repositories.draft import DecisionDraft
from persistence.retention import DECISIONS
from persistence.store import Store
from tests.bench.databases import postgresql_database, sqlite_database
from tests.bench.growing import AT_ONCE, fill, stored_claim
from tests.support.builders import NOW, draft, later

MEASURED = 1_000
LOOKUPS = 100
CLEANED = 500
ALL_EXPIRED = NOW + 6 * YEAR
DATABASES: Mapping[str, Callable[[Path], AbstractAsyncContextManager[str]]] = {
    "sqlite": sqlite_database,
    "postgresql": postgresql_database,
    "postgresql, its own settings": partial(postgresql_database, settings=None),
}
ROWS = {
    "decisions/s, new claims": "new",
    "decisions/s, any stored claim": "old",
    "one decision alone, ms": "alone",
    "a claim's history, ms": "history",
    f"clean-up of {CLEANED} records, ms": "clean_up",
    f"retention of {CLEANED} decisions, ms": "retention",
    f"statements per decision, {AT_ONCE} at once": "statements",
}
FIRST = 100_000_000
_numbers = count(FIRST)


@dataclass(slots=True)
class Subject:
    """A database of one size, and what was measured on it so far."""

    size: int
    store: Store
    rng: random.Random
    statements: int = 0
    found: dict[str, list[float]] = field(default_factory=dict)

    def note(self, name: str, value: float) -> None:
        """Keep a measurement."""
        self.found.setdefault(name, []).append(value)


def fresh(claims: Iterator[str], number: int) -> list[DecisionDraft]:
    """Decisions about some claims, each later than all before it."""
    keys = [next(_numbers) for _ in range(number)]
    return [
        draft(
            next(claims), job_key=key, process_instance_key=key, now=later(days=30, milliseconds=key - FIRST)
        )
        for key in keys
    ]


def new_claims() -> Iterator[str]:
    """Claims that are numbered on, as a hospital does."""
    return (f"CLM-9999-{next(_numbers)}" for _ in count())


def old_claims(subject: Subject) -> Iterator[str]:
    """Claims from all of history, none likelier than another: in life the recent ones are."""
    return (stored_claim(subject.size, subject.rng) for _ in count())


async def rate(store: Store, drafts: Sequence[DecisionDraft]) -> float:
    """Record decisions, so many at once; decisions per second."""
    waiting = iter(drafts)

    async def worker() -> None:
        for one in waiting:
            await store.record(one)

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return len(drafts) / (time.perf_counter() - began)


async def median_ms(times: int, work: Callable[[], Awaitable[object]]) -> float:
    """The median time of some work."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


async def measure(subject: Subject) -> None:
    """One round on one database."""
    store, before = subject.store, subject.statements
    subject.note("new", await rate(store, fresh(new_claims(), MEASURED)))
    subject.note("statements", (subject.statements - before) / MEASURED)
    subject.note("old", await rate(store, fresh(old_claims(subject), MEASURED)))
    singles = iter(fresh(new_claims(), LOOKUPS))
    subject.note("alone", await median_ms(LOOKUPS, lambda: store.record(next(singles))))
    subject.note("history", await median_ms(LOOKUPS, lambda: _history(subject)))
    subject.note("clean_up", await median_ms(3, lambda: _clean_up(store)))
    subject.note("retention", await median_ms(3, lambda: _retention(store)))


async def _history(subject: Subject) -> None:
    async with subject.store.reading() as tx:
        await tx.decisions.of_claims([stored_claim(subject.size, subject.rng)])


async def _clean_up(store: Store) -> None:
    await store.run(lambda tx: tx.idempotency.delete_expired(ALL_EXPIRED, CLEANED))


async def _retention(store: Store) -> None:
    await store.run(lambda tx: tx.expired.remove(DECISIONS, Periods(), now=ALL_EXPIRED, limit=CLEANED))


async def prepared(stack: AsyncExitStack, name: str, size: int) -> Subject:
    """A database of a size, warm."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reenvio-durable-")))
    url = await stack.enter_async_context(DATABASES[name](folder))
    await fill(url, size)
    engine = open_database(url)
    stack.push_async_callback(engine.dispose)
    subject = Subject(size, Store(engine), random.Random(size))

    @event.listens_for(engine.sync_engine, "before_cursor_execute")
    def note(*_: object) -> None:
        subject.statements += 1

    await rate(subject.store, fresh(new_claims(), MEASURED))
    return subject


async def bench(name: str, sizes: Sequence[int], rounds: int, console: Console) -> None:
    """Measure one kind of database at all sizes and print a table."""
    async with AsyncExitStack() as stack:
        subjects = [await prepared(stack, name, size) for size in sizes]
        for _ in range(rounds):
            for subject in subjects:
                await measure(subject)
        console.print(table(name, subjects))


def table(name: str, subjects: Sequence[Subject]) -> Table:
    """Medians per size, and how the largest compares with the smallest, round by round."""
    sheet = Table(name, *(f"{subject.size:,}" for subject in subjects), "largest : smallest (range)")
    for title, key in ROWS.items():
        columns = [subject.found[key] for subject in subjects]
        ratios = [last / first for first, last in zip(columns[0], columns[-1], strict=True)]
        growth = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
        sheet.add_row(title, *(f"{statistics.median(values):,.2f}" for values in columns), growth)
    return sheet


async def run(names: Sequence[str], sizes: Sequence[int], rounds: int) -> None:
    """Measure each kind of database."""
    for name in names:
        await bench(name, sizes, rounds, Console())


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--only", choices=DATABASES, action="append")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    asyncio.run(run(given.only or list(DATABASES), given.sizes, given.rounds))


if __name__ == "__main__":
    main()
