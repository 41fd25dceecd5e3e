"""Turns foreseen trouble into one line for the user; no traceback reaches anybody."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console

from domain.errors import Trouble
from domain.legible import is_text
from workers.cli.output import say

INTERRUPTED = 130
READER_GONE = 141


class ReaderGone(Exception):  # noqa: N818 - nobody failed
    """Whoever reads our output has closed it: `reenvio audit export CLAIM | head -1`."""


class NoText(Trouble):
    """An argument that was written in another encoding than it is read in."""

    exit_code = 2


def require_text(arguments: Iterable[str]) -> None:
    """Refuse what was not written in UTF-8: letters would be lost from a reason, a payer or a name."""
    for place, argument in enumerate(arguments, start=1):
        if not is_text(argument):
            raise NoText(
                f"Argument {place} is no text in UTF-8, and nothing was done: let the terminal write UTF-8 "
                "(see `locale`), or rename the file that has such a name."
            )


@contextmanager
def plain_errors() -> Iterator[None]:
    """Trouble ends the program with one line of advice and its exit code."""
    try:
        with _flushed():
            yield
    except (ReaderGone, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left has no reader
        raise SystemExit(READER_GONE) from None
    except Trouble as trouble:
        for line in trouble.log_lines:
            _complain(f"  | {line}")
        _complain(str(trouble))
        raise SystemExit(trouble.exit_code) from trouble
    except KeyboardInterrupt as error:
        _complain("Interrupted.")
        raise SystemExit(INTERRUPTED) from error


@contextmanager
def _flushed() -> Iterator[None]:
    """Output that cannot be written is told now, not by the interpreter when it ends."""
    try:
        yield
    finally:
        sys.stdout.flush()


def _complain(message: str) -> None:
    say(Console(stderr=True), message)
