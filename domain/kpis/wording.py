"""Values of KPIs as people read them."""

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction

from domain.kpis.definitions import Target, Unit

NONE = "-"
BARS = "▁▂▃▄▅▆▇█"
GAP = "·"
MINUTE, HOUR = 60, 3_600


class Trend(StrEnum):
    """How a value lies beside the one of the period before."""

    UP = "up"
    DOWN = "down"
    SAME = "same"
    NEW = "new"


def trend(value: Fraction | None, before: Fraction | None) -> Trend | None:
    """The direction; None where there is no value, NEW where there was none before."""
    if value is None:
        return None
    if before is None:
        return Trend.NEW
    if value == before:
        return Trend.SAME
    return Trend.UP if value > before else Trend.DOWN


def told(value: Fraction | None, unit: Unit, point: str = ".") -> str:
    """A value with its unit; `point` is what stands before decimals."""
    if value is None:
        return NONE
    if unit is Unit.SHARE:
        return f"{_decimals(value * 100)} %".replace(".", point)
    if unit is Unit.NUMBER:
        return _decimals(value).replace(".", point)
    return _duration(round(value))


def target_told(target: Target, unit: Unit, point: str = ".") -> str:
    """A target as its rule writes it: >= 85 %."""
    return f"{target.bound} {_short(target.value, unit, point)}"


def bars(values: Sequence[Fraction | None]) -> str:
    """A line of small bars from the least to the greatest; a dot where there is no value."""
    known = [value for value in values if value is not None]
    least, most = (min(known), max(known)) if known else (Fraction(), Fraction())
    return "".join(GAP if value is None else _bar(value, least, most) for value in values)


def _bar(value: Fraction, least: Fraction, most: Fraction) -> str:
    if most == least:
        return BARS[len(BARS) // 2]
    return BARS[round((value - least) / (most - least) * (len(BARS) - 1))]


def _decimals(value: Fraction) -> str:
    """Two decimals, rounded half up: floats would round some of them the other way."""
    hundredths = int(value * 100 + Fraction(1, 2))
    return f"{hundredths // 100}.{hundredths % 100:02d}"


def _short(value: Fraction, unit: Unit, point: str) -> str:
    if unit is Unit.SECONDS:
        return _duration(round(value))
    shown = value * 100 if unit is Unit.SHARE else value
    text = f"{float(shown):g}".replace(".", point)
    return f"{text} %" if unit is Unit.SHARE else text


def _duration(seconds: int) -> str:
    if seconds < MINUTE:
        return f"{seconds} s"
    if seconds < 2 * HOUR:
        minutes, rest = divmod(seconds, MINUTE)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, rest = divmod(seconds, HOUR)
    return f"{hours} h {rest // MINUTE} min" if rest >= MINUTE else f"{hours} h"
