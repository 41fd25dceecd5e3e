"""Turns foreseen trouble into one line for the user; no traceback reaches anybody."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper

from rich.console import Console

from domain.errors import Trouble
from domain.legible import is_text
from workers.cli.output import NotWritten, ReaderGone, say, written

INTERRUPTED = 130
READER_GONE = 141
UNSAID = 1


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
    _write_any_letter()
    try:
        with _flushed():
            yield
    except (ReaderGone, BrokenPipeError):
        _leave_unwritten()
        raise SystemExit(READER_GONE) from None
    except NotWritten as unsaid:
        _leave_unwritten()
        _complain(str(unsaid))
        raise SystemExit(UNSAID) from unsaid
    except Trouble as trouble:
        for line in trouble.log_lines:
            _complain(f"  | {line}")
        _complain(str(trouble))
        raise SystemExit(trouble.exit_code) from trouble
    except KeyboardInterrupt as error:
        _complain("Interrupted.")
        raise SystemExit(INTERRUPTED) from error


def _write_any_letter() -> None:
    """A terminal that knows fewer letters than we write shows the others as their escapes."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def _flushed() -> Iterator[None]:
    """Output that cannot be written is told now, not by the interpreter when it ends."""
    try:
        yield
    except OSError:  # of a library that prints by itself, as for --help
        _write_out("\n")
        raise
    finally:
        _write_out()


def _write_out(last: str = "") -> None:
    if sys.stdout:  # nobody has one who closed it
        with written():
            sys.stdout.write(last)
            sys.stdout.flush()


def _leave_unwritten() -> None:
    """What is left has nowhere to go: the interpreter must not try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> None:
    with suppress(NotWritten, ReaderGone):  # the exit code says it, too
        say(Console(stderr=True), message)
