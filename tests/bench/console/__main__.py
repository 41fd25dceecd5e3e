"""Pages of the console over 100,000 claims and 1,000,000 decisions, then fifty people clicking at once.

    .venv/bin/python -m tests.bench.console [--claims N] [--decisions N] [--databases sqlite postgresql]
                                            [--rounds N] [--people N] [--seconds N]

The server's time of a page is from the request to the whole answer, inside one process; each page was opened
twice before it is timed. The people's time is over HTTP, while all others click too.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from rich.console import Console
from rich.table import Table
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.access import Role
from domain.payer_status import PayerState
from persistence.database.engine import PoolLimits, close_database, open_database
from persistence.store import Store
from tests.bench.console.clicking import Clicks, Crowd, clicked
from tests.bench.console.filling import fill, settle
from tests.bench.console.history import PAYERS, HistorySize
from tests.bench.console.pages import AIM_MS, PageTime, audit_paths, paths, percentile, timed
from tests.bench.kpi import DATABASES
from tests.support.builders import NOW
from tests.support.console_scene import ConsoleScene
from tests.support.console_stage import ConsoleStage, console_stage
from tests.support.databases import SEALS
from tests.support.mails import keep_dead
from workers.app.http_server import Place, serving
from workers.console.routes import console_app

EVERYTHING = frozenset(Role) - {Role.AUDITOR}
LETTERS = 300
SHOWN_ERRORS = 10


def main() -> None:
    """A table for each database."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--claims", type=int, default=100_000)
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=list(DATABASES))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    given, screen = parser.parse_args(), Console()
    well = [asyncio.run(_measured(name, given, screen)) for name in given.databases]
    sys.exit(not all(well))


async def _measured(name: str, given: argparse.Namespace, screen: Console) -> bool:
    size = HistorySize(given.claims, given.decisions, NOW)
    with TemporaryDirectory(prefix="reenvio-console-") as folder:
        async with DATABASES[name](Path(folder)) as url:
            database = open_database(url, PoolLimits(command_seconds=600))
            stage = await _prepared(database, size, screen)
            times = await _timed(stage, size, given.rounds)
            screen.print(_table(name, size, times))
            clicks = await _crowded(stage, size, given)
            screen.print(_told(given, clicks))
            await close_database(database)
    return not clicks.errors and all(one.meets_aim for one in times)


async def _prepared(database: AsyncEngine, size: HistorySize, screen: Console) -> ConsoleStage:
    begun = perf_counter()

    def tell(number: int) -> None:
        screen.print(f"{number:,} of {size.claims:,} claims after {perf_counter() - begun:.0f} s")

    await fill(database, size, tell)
    stage = console_stage(Store(database, SEALS))
    scene = ConsoleScene(stage.store, NOW)
    await scene.indicators()
    for number, payer in enumerate(PAYERS):
        await scene.payer(payer, PayerState.CLOSED if number % 4 else PayerState.OPEN)
    await keep_dead(stage.store, range(LETTERS), at=NOW - timedelta(hours=1))
    await settle(database)
    screen.print(f"The history stands after {perf_counter() - begun:.0f} s.")
    return stage


async def _timed(stage: ConsoleStage, size: HistorySize, rounds: int) -> Sequence[PageTime]:
    async with (
        stage.logged_in(*EVERYTHING) as browser,
        stage.logged_in(Role.AUDITOR, login="olga") as auditor,
    ):
        times = [await timed(browser, path, rounds) for path in paths(size)]
        return [*times, *[await timed(auditor, path, rounds) for path in audit_paths(size)]]


async def _crowded(stage: ConsoleStage, size: HistorySize, given: argparse.Namespace) -> Clicks:
    logins = [f"person-{number}" for number in range(given.people)]
    for login in logins:
        await stage.person(login, EVERYTHING)
    async with serving(console_app(stage.console), Place("127.0.0.1", 0, "CONSOLE_PORT")) as port:
        return await clicked(Crowd(f"http://127.0.0.1:{port}", logins, paths(size), given.seconds))


def _table(name: str, size: HistorySize, times: Sequence[PageTime]) -> Table:
    title = f"{name}: {size.claims:,} claims, {size.decisions:,} decisions; aim p95 < {AIM_MS:.0f} ms"
    table = Table("page", title=title, title_justify="left")
    for column in ("p50 ms", "p95 ms", "most ms", "aim"):
        table.add_column(column, justify="right")
    for one in times:
        figures = (f"{one.at(share):.0f}" for share in (0.5, 0.95, 1))
        table.add_row(one.path, *figures, "met" if one.meets_aim else "NOT MET")
    return table


def _told(given: argparse.Namespace, clicks: Clicks) -> str:
    took = [1_000 * one for one in clicks.seconds]
    figures = f"p50 {percentile(took, 0.5):.0f} ms, p95 {percentile(took, 0.95):.0f} ms"
    errors = "; ".join(clicks.errors[:SHOWN_ERRORS]) or "none"
    return f"{given.people} people for {given.seconds:.0f} s: {len(took)} pages, {figures}; errors: {errors}"


if __name__ == "__main__":
    main()
