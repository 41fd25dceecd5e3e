"""What was measured: one sample per contender and round, and the median and spread over the rounds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from tests.bench.names import Name


@dataclass(frozen=True, slots=True)
class Sample:
    """One contender in one round; a latency is the time from asking for an instance to its result."""

    contender: Name
    round: int
    jobs_per_second: float
    cpu_ms_per_job: float
    broker_ms_per_job: float
    p50_ms: float
    p99_ms: float
    unanswered: int = 0


@dataclass(frozen=True, slots=True)
class Figure:
    """A median over rounds, and the lowest and highest of them."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_short(self.middle)} ({_short(self.low)}-{_short(self.high)})"


@dataclass(frozen=True, slots=True)
class Summary:
    """All rounds of one contender."""

    contender: Name
    rounds: int
    jobs_per_second: Figure
    cpu_ms_per_job: Figure
    broker_ms_per_job: Figure
    p50_ms: Figure
    p99_ms: Figure
    unanswered: int


def summarise(contender: Name, samples: Iterable[Sample]) -> Summary | None:
    """The contender's figures; None when it was not measured."""
    own = [sample for sample in samples if sample.contender == contender]
    if not own:
        return None
    return Summary(
        contender=contender,
        rounds=len(own),
        jobs_per_second=figure([sample.jobs_per_second for sample in own]),
        cpu_ms_per_job=figure([sample.cpu_ms_per_job for sample in own]),
        broker_ms_per_job=figure([sample.broker_ms_per_job for sample in own]),
        p50_ms=figure([sample.p50_ms for sample in own]),
        p99_ms=figure([sample.p99_ms for sample in own]),
        unanswered=sum(sample.unanswered for sample in own),
    )


def figure(values: Sequence[float]) -> Figure:
    """Median, lowest and highest."""
    return Figure(median(values), min(values), max(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * share // 1))
    return ordered[int(rank) - 1]


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
