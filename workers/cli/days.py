"""Days as options of commands."""

from datetime import date

import typer

EARLIEST = date(2000, 1, 1)
LATEST = date(2999, 12, 31)


def read_day(text: str) -> date:
    """A day such as 2026-03-01."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no day: write year-month-day, such as 2026-03-01") from None
    if not EARLIEST <= day <= LATEST:
        raise typer.BadParameter(f"{text} is too far away: give a day from {EARLIEST} to {LATEST}")
    return day
