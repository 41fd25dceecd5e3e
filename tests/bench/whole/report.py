"""The figures of the whole way as people read them, and as programs do."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from statistics import median

import psutil
from rich.table import Table

from domain.payer_status import PayerLimits
from tests.bench.figures import figure
from tests.bench.whole.held import HeldClaim, comebacks
from tests.bench.whole.options import WholeOptions
from tests.bench.whole.way import ROWS, Entrant, Way

AIM = 0.5
HELD_ROWS = {
    "jobs": "jobs",
    "commits": "commits",
    "worker, CPU ms": "worker_ms",
    "broker, CPU ms": "broker_ms",
    "database, CPU ms": "database_ms",
}


def ways_table(database: str, ways: Sequence[Way]) -> Table:
    """Medians with their spread on one database: a row per figure, a column per entrant."""
    own = [way for way in ways if way.database == database]
    entrants = list(dict.fromkeys(way.entrant for way in own))
    rounds = {sum(way.entrant == entrant for way in own) for entrant in entrants}
    times = "-".join(map(str, sorted({min(rounds), max(rounds)})))
    title = f"{database}: from files to protocols, medians (lowest-highest) of {times} rounds"
    table = Table("", title=title, title_justify="left")
    for entrant in entrants:
        table.add_column(str(entrant), justify="right")
    for name, field in ROWS.items():
        cells = [cell([way for way in own if way.entrant == entrant], field) for entrant in entrants]
        if any(one != "-" for one in cells):
            table.add_row(name, *cells)
    return table


def cell(ways: Sequence[Way], field: str) -> str:
    """One figure over all rounds; a dash where nobody could tell."""
    values = [value for way in ways if (value := getattr(way, field)) is not None]
    return str(figure(values)) if values else "-"


def ratios(ways: Sequence[Way]) -> list[str]:
    """Ours against each of the others, per database."""
    found = []
    for database in dict.fromkeys(way.database for way in ways):
        ours = _pace(ways, database, "reenvio")
        for other, words in (
            ("plain", f"the plain program's pace (aim: {AIM})"),
            ("before", "the pace before"),
        ):
            theirs = _pace(ways, database, other)
            if ours and theirs:
                found.append(f"{database}: {ours / theirs:.2f} of {words}")
    return found


def _pace(ways: Sequence[Way], database: str, contender: str) -> float | None:
    own = [
        way.claims_per_second
        for way in ways
        if way.database == database and way.entrant == Entrant(contender)
    ]
    return median(own) if own else None


def held_table(held: Sequence[HeldClaim]) -> Table:
    """What a held claim costs: once, on its first day, on every later one."""
    first, later = comebacks(PayerLimits(), 3)[::2]
    table = Table("", title="What a claim costs that a breaker holds", title_justify="left")
    table.caption = f"It comes back {first} times on the first day, {later} times on every later one."
    for one in held:
        for when in ("one comeback", "first day", "later day"):
            table.add_column(f"{one.database}, {when}", justify="right")
    for name, field in HELD_ROWS.items():
        costs = [one.times(times).get(field) for one in held for times in (1, first, later)]
        if any(cost is not None for cost in costs):
            table.add_row(name, *("-" if cost is None else f"{cost:.3g}" for cost in costs))
    return table


def as_json(options: WholeOptions, ways: Sequence[Way], held: Sequence[HeldClaim]) -> str:
    """Every round's figures."""
    everything = {
        "cores": psutil.cpu_count(),
        "load": psutil.getloadavg(),
        "options": asdict(options),
        "ways": [asdict(way) for way in ways],
        "held": [asdict(one) for one in held],
        "comebacks": comebacks(PayerLimits(), 3),
    }
    return json.dumps(everything, indent=2, default=str) + "\n"
