"""Whether waits are spread evenly over their windows: the jitter's uniformity of RN-BIL-004 (6.2)."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

BINS = 10
FEWEST = 30
"""So few draws prove nothing."""
CHANCE = 3.0
"""Standard deviations of a bin's share that are put down to chance."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A wait in whole seconds, drawn from `low` on and below `high`."""

    seconds: int
    low: int
    high: int


def deviation(draws: Iterable[Draw]) -> float | None:
    """By how much the fullest or emptiest tenth of the windows differs from an even share, beyond chance.

    0.3 is a tenth that has 30 % more, or less, than it should, after what chance explains is taken off; 0
    is what even draws give, however few or many. None for too few draws. Windows of fewer seconds than
    there are bins say nothing and are left out.
    """
    told = [draw for draw in draws if draw.high - draw.low >= BINS]
    if len(told) < FEWEST:
        return None
    observed = Counter(_bin(draw.seconds - draw.low, draw.high - draw.low) for draw in told)
    widths = Counter(draw.high - draw.low for draw in told)
    expected = [sum(n * _shares(width)[place] for width, n in widths.items()) for place in range(BINS)]
    return max(_beyond_chance(observed[place], expected[place]) for place in range(BINS))


def _beyond_chance(observed: int, expected: float) -> float:
    by_chance = sqrt((1 - 1 / BINS) / expected)
    return max(abs(observed - expected) / expected - CHANCE * by_chance, 0.0)


def _bin(place: int, width: int) -> int:
    """A wait outside its window belongs to the nearest tenth."""
    return min(max(place * BINS // width, 0), BINS - 1)


@lru_cache(maxsize=256)
def _shares(width: int) -> tuple[float, ...]:
    """Which share of a window's seconds is in each bin: not a tenth, where the width is not a multiple."""
    bins = Counter(_bin(place, width) for place in range(width))
    return tuple(bins[place] / width for place in range(BINS))
