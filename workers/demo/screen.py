"""Where the demo shows itself: a live view on a terminal, plain lines anywhere else."""

from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text

from workers.demo.snapshot import Snapshot, draw, line


class Screen(Protocol):
    """Shows snapshots and announcements."""

    def __enter__(self) -> "Screen": ...

    def __exit__(self, *_: object) -> None: ...

    def show(self, snapshot: Snapshot) -> None:
        """A new moment."""

    def announce(self, words: str) -> None:
        """Something that no claim's journal tells."""


class LiveScreen:
    """A view that changes in place; announcements scroll above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=8, transient=True)

    def __enter__(self) -> Screen:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)

    def show(self, snapshot: Snapshot) -> None:
        """Redraw."""
        self._live.update(draw(snapshot, rows=self._console.height))

    def announce(self, words: str) -> None:
        """Print above the view."""
        self._console.print(Text.assemble((">", "bold cyan"), f" {words}"))


class PlainScreen:
    """One line per event, for pipes and logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = 0

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to put back."""

    def show(self, snapshot: Snapshot) -> None:
        """Print the events that are new."""
        for entry in snapshot.entries[self._shown :]:
            self._console.print(line(entry, snapshot.start), soft_wrap=True)
        self._shown = len(snapshot.entries)

    def announce(self, words: str) -> None:
        """Print as a line of its own."""
        self._console.print(f"> {words}", soft_wrap=True, markup=False)


def screen_for(console: Console) -> Screen:
    """The screen that fits the console."""
    return LiveScreen(console) if console.is_terminal else PlainScreen(console)
