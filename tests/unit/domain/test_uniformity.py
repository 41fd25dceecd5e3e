"""The derived jitter is uniform for every attempt: 100,000 claims each, tested by hand-made statistics."""

from collections import Counter
from functools import cache
from math import sqrt
from statistics import NormalDist

import pytest

from domain.backoff import BackoffCalculation, calculate, derive_draw
from tests.unit.domain.deciding import POLICY

CLAIMS = 100_000
BINS = 20


@cache
def waits(count: int) -> list[BackoffCalculation]:
    """What 100,000 neighbouring claims wait at one attempt."""
    names = (f"CLM-ENC-{n // 1000:03d}-{1_700_000_000 + n}" for n in range(CLAIMS))
    draws = (derive_draw(name, count, version=POLICY.version, key=POLICY.jitter_key) for name in names)
    return [calculate(POLICY.limits, count, draw) for draw in draws]


def chi_square(observed: list[int]) -> float:
    expected = sum(observed) / len(observed)
    return sum((number - expected) ** 2 / expected for number in observed)


def chi_square_limit(freedom: int, chance: float) -> float:
    """The value exceeded with that chance, by Wilson and Hilferty."""
    z = NormalDist().inv_cdf(1 - chance)
    return float(freedom * (1 - 2 / (9 * freedom) + z * sqrt(2 / (9 * freedom))) ** 3)


def kolmogorov_smirnov(values: list[float]) -> float:
    ordered = sorted(values)
    size = len(ordered)
    return max(max((rank + 1) / size - value, value - rank / size) for rank, value in enumerate(ordered))


@pytest.mark.parametrize("count", range(5))
def test_every_second_of_the_window_is_equally_likely(count: int) -> None:
    seconds = Counter(wait.seconds - wait.low_seconds for wait in waits(count))
    width = waits(count)[0].high_seconds - waits(count)[0].low_seconds
    observed = [seconds[second] for second in range(width)]
    assert sum(observed) == CLAIMS
    assert chi_square(observed) < chi_square_limit(width - 1, 0.01)


@pytest.mark.parametrize("count", range(5))
def test_the_fraction_is_uniform_by_chi_square(count: int) -> None:
    bins = Counter(int(wait.fraction * BINS) for wait in waits(count))
    assert chi_square([bins[number] for number in range(BINS)]) < chi_square_limit(BINS - 1, 0.01)


@pytest.mark.parametrize("count", range(5))
def test_the_fraction_is_uniform_by_kolmogorov_smirnov(count: int) -> None:
    assert kolmogorov_smirnov([wait.fraction for wait in waits(count)]) < 1.63 / sqrt(CLAIMS)


@pytest.mark.parametrize("count", range(5))
def test_no_wait_is_an_atom_neither_at_the_floor_nor_at_the_cap(count: int) -> None:
    seconds = Counter(wait.seconds for wait in waits(count))
    width = waits(count)[0].high_seconds - waits(count)[0].low_seconds
    expected = CLAIMS / width
    assert max(seconds.values()) < expected + 6 * sqrt(expected)
    assert len(seconds) == width


def test_the_attempts_of_one_claim_are_independent() -> None:
    pairs = Counter(
        (int(a.fraction * 5), int(b.fraction * 5)) for a, b in zip(waits(0), waits(1), strict=True)
    )
    observed = [pairs[a, b] for a in range(5) for b in range(5)]
    assert chi_square(observed) < chi_square_limit(24, 0.01)


def test_the_statistics_would_notice_the_formulas_the_rules_write() -> None:
    """Half of all first retries at the floor, and ten percent instead of twenty: both must fail."""
    clamped = [max(0.0, 2 * wait.fraction - 1) for wait in waits(0)]
    narrow = [0.25 + wait.fraction / 2 for wait in waits(0)]
    assert kolmogorov_smirnov(clamped) > 1.63 / sqrt(CLAIMS)
    assert kolmogorov_smirnov(narrow) > 1.63 / sqrt(CLAIMS)
