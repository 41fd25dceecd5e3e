"""Tables of the command line: whole in a pipe; in a narrow terminal no id, state or team is cut short."""

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain.legible import printable_line
from workers.cli.output import say, written

FREE_TEXT = frozenset({"why", "reason", "maintenance"})
"""Columns whose text may be folded over several lines."""
FOLDED_WIDTH = 16
GAP = 2
_SECONDS = re.compile(r"(?<=T\d\d:\d\d):\d\d\+00:00")

Rows = Sequence[Sequence[str]]


def print_table(names: Sequence[str], rows: Rows, console: Console | None = None) -> None:
    """Print rows under their names, with borders where the terminal has the room for them."""
    console = console or Console()
    rows = [[printable_line(cell) for cell in row] for row in rows]
    short = [[_SECONDS.sub("Z", cell) for cell in row] for row in rows]
    if console.is_terminal and _bordered_width(names, rows) <= console.width:
        with written():
            console.print(_table(names, rows, Table()))
    elif console.is_terminal and _folded_width(names, short) <= console.width:
        with written():
            console.print(_table(names, short, Table(box=None, padding=(0, GAP, 0, 0))))
    else:
        for line in _lines(names, short if console.is_terminal else rows):
            say(console, line)


def _widths(names: Sequence[str], rows: Rows) -> list[int]:
    return [max(map(cell_len, column)) for column in zip(names, *rows, strict=True)]


def _bordered_width(names: Sequence[str], rows: Rows) -> int:
    return sum(_widths(names, rows)) + 3 * len(names) + 1


def _folded_width(names: Sequence[str], rows: Rows) -> int:
    widths = zip(names, _widths(names, rows), strict=True)
    return sum(GAP + (min(width, FOLDED_WIDTH) if name in FREE_TEXT else width) for name, width in widths)


def _table(names: Sequence[str], rows: Rows, table: Table) -> Table:
    for name, width in zip(names, _widths(names, rows), strict=True):
        free = name in FREE_TEXT
        least = min(width, FOLDED_WIDTH) if free else width
        table.add_column(name, no_wrap=not free, overflow="fold", min_width=least)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _lines(names: Sequence[str], rows: Rows) -> Iterator[str]:
    widths = _widths(names, rows)
    for row in (names, *rows):
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield (" " * GAP).join(padded).rstrip()
