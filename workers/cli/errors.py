"""Turns foreseen trouble into one line for the user; no traceback reaches anybody."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from domain.errors import Trouble

INTERRUPTED = 130


@contextmanager
def plain_errors() -> Iterator[None]:
    """Trouble ends the program with one line of advice and its exit code."""
    try:
        yield
    except Trouble as trouble:
        for line in trouble.log_lines:
            _complain(f"  | {line}")
        _complain(str(trouble))
        raise SystemExit(trouble.exit_code) from trouble
    except KeyboardInterrupt as error:
        _complain("Interrupted.")
        raise SystemExit(INTERRUPTED) from error


def say(console: Console, message: str) -> None:
    """Print a line as it is: no markup, no colours, no wrapping."""
    console.print(message, markup=False, highlight=False, soft_wrap=True)


def _complain(message: str) -> None:
    say(Console(stderr=True), message)
