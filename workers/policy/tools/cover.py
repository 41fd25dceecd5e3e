"""How long an outage a schedule outlasts, and what it costs: closed forms, no simulation."""

from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from statistics import NormalDist

from domain.backoff import RetryLimits, window


@dataclass(frozen=True, slots=True)
class RetryArrival:
    """One retry: its wait and the time since the first failure, in minutes."""

    number: int
    wait_low: float
    wait_high: float
    earliest: float
    mean: float
    latest: float


def arrivals(limits: RetryLimits) -> tuple[RetryArrival, ...]:
    """All retries of a claim that never gets through."""
    waits = [window(limits, count) for count in range(limits.max_retries)]
    lows = [low / 60 for low, _ in waits]
    highs = [high / 60 for _, high in waits]
    means = [(low + high) / 2 for low, high in zip(lows, highs, strict=True)]
    columns = zip(lows, highs, accumulate(lows), accumulate(means), accumulate(highs), strict=True)
    return tuple(RetryArrival(number, *column) for number, column in enumerate(columns, start=1))


def lost_share(limits: RetryLimits, outage_minutes: float) -> float:
    """The share of claims lost, when the first failure falls evenly inside an outage of that length."""
    steps = arrivals(limits)
    spread = sqrt(sum((step.wait_high - step.wait_low) ** 2 / 12 for step in steps))
    beyond = outage_minutes - steps[-1].mean
    if spread == 0 or abs(beyond) > 6 * spread:
        return max(0.0, beyond) / outage_minutes
    normal = NormalDist()
    return (beyond * normal.cdf(beyond / spread) + spread * normal.pdf(beyond / spread)) / outage_minutes


def longest_outage(limits: RetryLimits, lost_percent: float) -> float:
    """The longest outage, in minutes, that loses no more than that share of its claims."""
    low, high = 1.0, 2.0
    while lost_share(limits, high) * 100 <= lost_percent and high < 1e6:
        low, high = high, high * 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if lost_share(limits, middle) * 100 <= lost_percent else (low, middle)
    return low


def mean_attempts(limits: RetryLimits, outage_minutes: float) -> float:
    """The mean number of retries of the claims that get through after an outage of that length."""
    shares = _shares(limits, outage_minutes)
    return sum(number * share for number, share in shares) / sum(share for _, share in shares)


def median_minutes(limits: RetryLimits, outage_minutes: float) -> float:
    """The median time from first failure to success of the claims that get through."""
    shares, steps = _shares(limits, outage_minutes), arrivals(limits)
    half = sum(share for _, share in shares) / 2
    reached = accumulate(share for _, share in shares)
    number = next(n for (n, _), total in zip(shares, reached, strict=True) if total >= half)
    return steps[number - 1].mean


def _shares(limits: RetryLimits, outage_minutes: float) -> list[tuple[int, float]]:
    """Which retry gets through, as shares of the outage's length."""
    before, shares = 0.0, []
    for step in arrivals(limits):
        shares.append((step.number, max(0.0, min(step.mean, outage_minutes) - before)))
        before = min(step.mean, outage_minutes)
    return shares
