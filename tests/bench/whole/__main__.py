"""`python -m tests.bench.whole`: claims a second from a folder of files to their protocols, side by side."""

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from tests.bench.figures import figure
from tests.bench.whole.contenders import Way, Work, plain_program, reenvio
from tests.bench.whole.stage import Stage, stage

CLAIMS, ROUNDS = 600, 5
KINDS = ("sqlite", "postgresql")
Contender = Callable[[Stage, Work], Awaitable[Way]]
CONTENDERS: dict[str, Contender] = {"reenvio": reenvio, "plain": plain_program}
COLUMNS = {
    "files/s in": "files_per_second",
    "claims/s": "claims_per_second",
    "worker ms": "worker_ms",
    "broker ms": "broker_ms",
    "database ms": "database_ms",
    "payer ms": "payer_ms",
    "commits": "commits",
}


async def bench(options: argparse.Namespace, console: Console) -> list[Way]:
    """Every contender on every database once a round, each round with new claims."""
    ways, first = [], 1
    with tempfile.TemporaryDirectory(prefix="reenvio-whole-") as folder:
        async with stage(Path(folder), pinned=options.pin) as here:
            for number in range(options.rounds):
                for kind, name in ((kind, name) for kind in options.databases for name in options.contenders):
                    work = Work(kind, options.claims, first, embedded=not options.cluster)
                    first += options.claims
                    ways.append(await CONTENDERS[name](here, work))
                    console.print(_progress(number, ways[-1]))
    return ways


def _progress(number: int, way: Way) -> str:
    rate, cost = f"{way.claims_per_second:.1f} claims/s", f"{way.worker_ms:.1f} ms of the worker's CPU each"
    return f"round {number + 1}  {way.contender:8} {way.database:11} {rate}, {cost}"


def ways_table(ways: Sequence[Way]) -> Table:
    """Medians with their spread, one row per contender and database."""
    table = Table(title="From files to protocols: medians (lowest-highest)", title_justify="left")
    for title in ("contender", "database", "rounds", *COLUMNS):
        table.add_column(title, justify="left" if title in ("contender", "database") else "right")
    for kind, name in sorted({(way.database, way.contender) for way in ways}):
        own = [way for way in ways if (way.database, way.contender) == (kind, name)]
        table.add_row(name, kind, str(len(own)), *(_cell(own, column) for column in COLUMNS.values()))
    return table


def _cell(ways: Sequence[Way], column: str) -> str:
    values = [value for way in ways if (value := getattr(way, column)) is not None]
    return str(figure(values)) if values else "-"


def ratios(ways: Sequence[Way]) -> list[str]:
    """Ours against the plain program, per database."""
    rates = {
        pair: median(way.claims_per_second for way in ways if (way.database, way.contender) == pair)
        for pair in {(way.database, way.contender) for way in ways}
    }
    return [
        f"{kind}: {rates[kind, 'reenvio'] / rates[kind, 'plain']:.2f} of the plain program's pace (aim: 0.5)"
        for kind in KINDS
        if {(kind, name) for name in CONTENDERS} <= rates.keys()
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.whole", description=__doc__)
    parser.add_argument("--claims", type=int, default=CLAIMS, help=f"claims of a round ({CLAIMS})")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of all ({ROUNDS})")
    parser.add_argument("--databases", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--contenders", nargs="+", choices=tuple(CONTENDERS), default=tuple(CONTENDERS))
    parser.add_argument("--cluster", action="store_true", help="as a given cluster, with the wall's clock")
    parser.add_argument("--pin", action="store_true", help="the worker on one core, all others on another")
    options, console = parser.parse_args(), Console()
    ways = asyncio.run(bench(options, console))
    console.print(ways_table(ways))
    for line in ratios(ways):
        console.print(line)


if __name__ == "__main__":
    main()
