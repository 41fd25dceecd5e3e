"""The one door to the terminal: text of others is shown there, never obeyed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn

from domain.legible import printable


class ReaderGone(Exception):  # noqa: N818 - nobody failed
    """Whoever reads our output has closed it: `reenvio audit export CLAIM | head -1`."""


class NotWritten(Exception):  # noqa: N818 - beside what was done, so that no order passes for refused
    """What a command has to say cannot be put where it was sent: `reenvio kpi > /dev/full`."""


@contextmanager
def written() -> Iterator[None]:
    """Output that cannot be written is told as that, before it passes for a database that is away."""
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGone from error
    except OSError as error:
        raise NotWritten(
            f"The output could not be written ({error.strerror}): see where it was sent, and whether there "
            "is room. What the command changed, if anything, is done; what it had to say is lost."
        ) from error


def tell(message: str, *, err: bool = False) -> None:
    """Print lines as they are; control characters as their escapes."""
    with written():
        typer.echo(printable(message), err=err)


def counted(number: int, noun: str) -> str:
    """So many of something, in the number that fits."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def say(console: Console, message: str) -> None:
    """The same on a console: no markup, no colours, no wrapping."""
    with written():
        console.print(printable(message), markup=False, highlight=False, soft_wrap=True)


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """A progress bar on a terminal; elsewhere a line whenever its words change.

    What it gives is called with how many are done, and with some words.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines_of(console, what, total)
        return
    words_of = TextColumn("{task.fields[words]}", markup=False)
    with Progress(*Progress.get_default_columns(), words_of, console=console) as shown:
        task = shown.add_task(what, total=total, words="")
        yield lambda done, words: shown.update(task, completed=done, words=printable(words))


def _lines_of(console: Console, what: str, total: int) -> Callable[[int, str], None]:
    last = ""

    def advance(done: int, words: str) -> None:
        nonlocal last
        if words != last:
            last = words
            say(console, f"{what}: {done} of {total}, {words}")

    return advance
