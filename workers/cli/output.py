"""The one door to the terminal: text of others is shown there, never obeyed."""

import typer
from rich.console import Console

from domain.legible import printable


def tell(message: str, *, err: bool = False) -> None:
    """Print lines as they are; control characters as their escapes."""
    typer.echo(printable(message), err=err)


def counted(number: int, noun: str) -> str:
    """So many of something, in the number that fits."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def say(console: Console, message: str) -> None:
    """The same on a console: no markup, no colours, no wrapping."""
    console.print(printable(message), markup=False, highlight=False, soft_wrap=True)
