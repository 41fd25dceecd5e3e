"""Which dead letters a command is about: the options that the commands share."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Annotated, NoReturn

import typer

from domain.durations import read_duration
from domain.mail.dead_letters import DEAD_LETTER_LIFE
from persistence.repositories.dead_letters import WantedLetters
from persistence.store import Store
from workers.cli.output import counted, tell

STOPPED = 1


def read_age(text: str) -> timedelta:
    """An age that a letter can have: days, or a duration."""
    with suppress(OverflowError):
        age = timedelta(days=int(text)) if text.isascii() and text.isdigit() else read_duration(text)
        if age is not None and age <= DEAD_LETTER_LIFE:
            return age
    raise typer.BadParameter(f"give days up to {DEAD_LETTER_LIFE.days}, or a duration such as 4h or 90m")


CodeOption = Annotated[str | None, typer.Option("--code", help="Only those that died of this code.")]
CompanyOption = Annotated[str | None, typer.Option("--company", help="Only this company's.")]
OlderOption = Annotated[
    timedelta | None,
    typer.Option("--older-than", parser=read_age, metavar="AGE", help="Here for longer: days, or 4h."),
]
NewerOption = Annotated[
    timedelta | None,
    typer.Option("--newer-than", parser=read_age, metavar="AGE", help="Here for less: days, or 4h."),
]


def wanted_letters(
    now: datetime, code: str | None, company: str | None, ages: tuple[timedelta | None, timedelta | None]
) -> WantedLetters:
    """The letters that fit the options; `ages`: older than, newer than."""
    older, newer = (None if age is None else now - age for age in ages)
    return WantedLetters(code, company, moved_before=older, moved_since=newer)


def listed(counts: Sequence[tuple[str | None, int]]) -> str:
    """Counts on one line."""
    return ", ".join(f"{name or '-'} {number}" for name, number in counts)


def unopened_line(number: int) -> str:
    """That some letters cannot be read here, and what to do."""
    return (
        f"{counted(number, 'dead letter')} cannot be opened with the keys that are here, and stay as they "
        "are: `reenvio keys list` shows which key is missing."
    )


async def none_fit(store: Store) -> str:
    """That there are no letters; where others are, an option that is misspelt must not hide them."""
    others = await store.look(lambda tx: tx.dead_letters.count())
    if not others:
        return "No dead letters."
    return (
        f"None of {counted(others, 'dead letter')} fits: `reenvio dlq stats` has their codes and companies."
    )


def refuse(why: str) -> NoReturn:
    """End with a word of why."""
    tell(why, err=True)
    raise typer.Exit(STOPPED)
