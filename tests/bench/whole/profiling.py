"""A worker's profile as tables: where the thread of its loop spends its processor time."""

import pstats
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

SHOWN = 25
KEPT_PARTS = 3


@dataclass(frozen=True, slots=True)
class Spot:
    """A function: how often it was called, its own seconds, and those with all it called."""

    place: str
    calls: int
    own: float
    cumulative: float


def spots(file: Path) -> Sequence[Spot]:
    """Every function of a profile."""
    stats: dict[tuple[str, int, str], Any] = pstats.Stats(str(file)).stats  # type: ignore[attr-defined]
    return [
        Spot(place(*where), calls, own, cumulative) for where, (_, calls, own, cumulative, _) in stats.items()
    ]


def place(file: str, line: int, function: str) -> str:
    """A function by the last parts of its file's path."""
    if file == "~":
        return function
    short = "/".join(Path(file).parts[-KEPT_PARTS:])
    return f"{short}:{line} {function}"


def profile_tables(title: str, found: Sequence[Spot]) -> Sequence[Table]:
    """The functions that take most, by themselves and with all they call."""
    return [
        _table(f"{title}: the most by themselves", found, lambda spot: spot.own),
        _table(f"{title}: the most with all they call", found, lambda spot: spot.cumulative),
    ]


def _table(title: str, found: Sequence[Spot], by: Callable[[Spot], float]) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = "cProfile, CPU seconds of the loop's thread alone; watching makes them more than they are"
    for name in ("calls", "own s", "with all s", "of own"):
        table.add_column(name, justify="right")
    table.add_column("function", overflow="fold")
    total = sum(spot.own for spot in found) or 1.0
    for spot in sorted(found, key=by, reverse=True)[:SHOWN]:
        figures = (f"{spot.calls:,}", f"{spot.own:.2f}", f"{spot.cumulative:.2f}", f"{spot.own / total:.1%}")
        table.add_row(*figures, spot.place)
    return table
