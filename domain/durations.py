"""Durations as people write them (90m, 4h, 1d12h, PT4H), and the whole seconds that timers know."""

import re
from datetime import UTC, datetime, timedelta

ONE_SECOND = timedelta(seconds=1)
LONGEST_AHEAD = timedelta(days=36_525)
"""How far ahead a person may put a moment: a century, and every wait after it still fits the calendar."""
YEARS = range(2000, 9000)
"""The years in which moments of others may lie, with room to add and subtract waits."""

_DURATION = re.compile(
    r"P?(?:(?P<days>\d+)D)?T?(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?",
    re.IGNORECASE | re.ASCII,
)


def read_duration(text: str) -> timedelta | None:
    """The duration, or None when the text is none; one that is too long is an OverflowError."""
    found = _DURATION.fullmatch(text.strip())
    amounts = {unit: int(value) for unit, value in found.groupdict().items() if value} if found else {}
    return timedelta(**amounts) if amounts else None


def within_reach(moment: datetime, now: datetime) -> datetime:
    """The moment, or the last that may be asked for: a row may hold the end of the calendar."""
    return min(moment, now + LONGEST_AHEAD)


def whole_second(moment: datetime) -> datetime:
    """The first whole second from a moment on, in UTC: a timer that ended earlier would end for nothing."""
    cut = moment.astimezone(UTC).replace(microsecond=0)
    return cut if cut == moment else cut + ONE_SECOND
