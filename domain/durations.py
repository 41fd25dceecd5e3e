"""Durations as people write them: 90m, 4h, 1d12h, PT4H."""

import re
from datetime import timedelta

_DURATION = re.compile(
    r"P?(?:(?P<days>\d+)D)?T?(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?",
    re.IGNORECASE | re.ASCII,
)


def read_duration(text: str) -> timedelta | None:
    """The duration, or None when the text is none; one that is too long is an OverflowError."""
    found = _DURATION.fullmatch(text.strip())
    amounts = {unit: int(value) for unit, value in found.groupdict().items() if value} if found else {}
    return timedelta(**amounts) if amounts else None
