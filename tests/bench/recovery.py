"""What a recovery costs with many waiting claims, on both databases.

`python -m tests.bench.recovery [--waiting 1000 10000 100000] [--per-minute 600] [--minutes 5]`

The waiting claims are rows, the payer's answers and the time are made up: a simulated clock goes from page to
page as fast as the database does. Measured are the real transactions: the one with the trial's answer, which
opens the payer to all, and each that gives a page of slots. A ticking task tells how long the event loop was
blocked, by the clock and by the CPU time that its thread used: what other programs take is not in the second.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sqlalchemy import insert

from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.slots import Wait
from domain.submission import Accepted, Submission
from persistence.database.engine import close_database, open_database
from persistence.database.rows import row_of
from persistence.store import Store, Transaction
from persistence.tables import payer_waits
from tests.bench.durable import DATABASES
from tests.support.builders import NOW, later
from workers.payers.admission import PayerChange, locked
from workers.payers.limits import LimitsByPayer
from workers.payers.waking import Waker

PAYER = "302147"
TICK_SECONDS = 0.001
INSERTED = 5_000
STEP = timedelta(seconds=5)
COLUMNS = (
    "waiting",
    "trial's answer ms",
    "longest page ms",
    "pages",
    "longest block ms",
    "CPU of it ms",
    "woken",
    "of pace",
)


@dataclass(slots=True)
class Figures:
    """What was measured at one size."""

    waiting: int
    answer: float = 0
    pages: list[float] = field(default_factory=list)
    blocked: float = 0
    busy: float = 0
    woken: int = 0


@asynccontextmanager
async def ticking(figures: Figures) -> AsyncIterator[None]:
    """Note the longest time in which the loop did nothing else."""

    async def tick() -> None:
        while True:
            began, used = time.perf_counter(), time.thread_time()
            await asyncio.sleep(TICK_SECONDS)
            figures.busy = max(figures.busy, time.thread_time() - used)
            figures.blocked = max(figures.blocked, time.perf_counter() - began - TICK_SECONDS)

    ticks = asyncio.create_task(tick())
    try:
        yield
    finally:
        ticks.cancel()


async def timed(work: Awaitable[object]) -> float:
    """How many seconds some work took."""
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def fill(store: Store, url: str, number: int) -> None:
    """So many claims that wait for a payer whose trial is under way."""
    engine = open_database(url)
    for first in range(0, number, INSERTED):
        rows = [row_of(_wait(n)) for n in range(first, min(first + INSERTED, number))]
        async with engine.begin() as connection:
            await connection.execute(insert(payer_waits), rows)
    await close_database(engine)
    async with store.transaction() as tx:
        await tx.payers.lock(PAYER, now=NOW)
        await tx.payers.save(PayerStatus(PAYER, NOW, PayerState.HALF_OPEN, slots_until=NOW))


def _wait(number: int) -> Wait:
    """Every fifth has no deadline; the others' deadlines are mixed, and many share one."""
    deadline = later(hours=9 + number * 7919 % 500) if number % 5 else None
    since = later(seconds=-number)
    return Wait(f"CLM-W-{number:06d}", PAYER, since, later(hours=9), deadline=deadline)


async def measure(store: Store, figures: Figures, limits: PayerLimits, minutes: int) -> None:
    """The trial's answer, then so many minutes of slots."""
    woken: list[str] = []

    async def wake_up(claim_id: str) -> None:
        woken.append(claim_id)

    async def answered(tx: Transaction) -> PayerChange:
        payer = await locked(tx, PAYER, limits, NOW)
        return await payer.after_send(Submission("CLM-0-0", PAYER, 1), Accepted("P-1"))

    async def come(tx: Transaction, claims: Sequence[str]) -> None:
        for claim_id in claims:
            await tx.payers.release(claim_id)

    waker = Waker(store, LimitsByPayer({PAYER: limits}), wake_up)
    figures.answer = await timed(store.run(answered))
    for step in range(timedelta(minutes=minutes) // STEP):
        now, before = NOW + step * STEP, len(woken)
        while True:
            known = len(woken)
            taken = await timed(waker.wake(PAYER, now))
            if len(woken) == known:
                break
            figures.pages.append(taken)
        await store.run(lambda tx, before=before: come(tx, woken[before:]))  # type: ignore[misc]
    figures.woken = len(woken)


async def at_size(name: str, number: int, limits: PayerLimits, minutes: int) -> Figures:
    """One size on one database."""
    figures = Figures(number)
    with tempfile.TemporaryDirectory(prefix="reenvio-recovery-") as folder:
        async with DATABASES[name](Path(folder)) as url:
            engine = open_database(url)
            store = Store(engine)
            await fill(store, url, number)
            async with ticking(figures):
                await measure(store, figures, limits, minutes)
            await close_database(engine)
    return figures


def row(figures: Figures, limits: PayerLimits, minutes: int) -> list[str]:
    """A line of the table."""
    span = timedelta(minutes=minutes) - STEP + limits.ahead
    possible = min(figures.waiting, span // limits.interval)
    return [
        f"{figures.waiting:,}",
        f"{figures.answer * 1e3:.0f}",
        f"{max(figures.pages) * 1e3:.0f}",
        f"{len(figures.pages)}",
        f"{figures.blocked * 1e3:.0f}",
        f"{figures.busy * 1e3:.0f}",
        f"{figures.woken:,}",
        f"{figures.woken / possible:.0%}",
    ]


async def run(given: argparse.Namespace) -> None:
    """A table for each database."""
    limits = PayerLimits(per_minute=given.per_minute, at_once=64, needs_proof=False)
    for name in given.only or ("sqlite", "postgresql"):
        table = Table(*COLUMNS, title=f"{name}, {given.per_minute} a minute, {given.minutes} minutes")
        for number in given.waiting:
            figures = await at_size(name, number, limits, given.minutes)
            table.add_row(*row(figures, limits, given.minutes))
        Console().print(table)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waiting", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--per-minute", type=int, default=600)
    parser.add_argument("--minutes", type=int, default=5)
    parser.add_argument("--only", choices=DATABASES, action="append")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
