"""The seven KPIs with the eight targets of the two rules, as data: RN-BIL-004 6.1 and RN-BIL-005 6.1."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from domain.kpis.periods import Frequency
from domain.kpis.tally import Counted, KpiTally

BIL_004, BIL_005 = "RN-BIL-004", "RN-BIL-005"
SECOND_US = 1_000_000
HOUR_SECONDS = 3_600


class KpiName(StrEnum):
    """What is measured."""

    SUCCESS_AFTER_RETRY = "success_after_retry"
    MEAN_ATTEMPTS = "mean_attempts"
    LOST_CLAIMS = "lost_claims"
    TIME_TO_SUCCESS = "time_to_success"
    MEAN_TIME_TO_SUCCESS = "mean_time_to_success"
    PERMANENT_ERRORS = "permanent_errors"
    EXHAUSTED = "exhausted"


class Unit(StrEnum):
    """What a value is given in: a share of 1, a number, or seconds."""

    SHARE = "share"
    NUMBER = "number"
    SECONDS = "seconds"


class Bound(StrEnum):
    """On which side of its target a value is good."""

    AT_LEAST = ">="
    AT_MOST = "<="
    BELOW = "<"

    def holds(self, value: Fraction, target: Fraction) -> bool:
        """Whether a value meets a target."""
        return _HOLDS[self](value, target)


_HOLDS: dict[Bound, Callable[[Fraction, Fraction], bool]] = {
    Bound.AT_LEAST: operator.ge,
    Bound.AT_MOST: operator.le,
    Bound.BELOW: operator.lt,
}


@dataclass(frozen=True, slots=True)
class Measure:
    """A value as what it is divided by what, both exact; `claims` is how many it rests on.

    `running` are claims that are left out since their first round is not over; `by_deadline` those that a
    deadline ended, told apart from spent retries.
    """

    numerator: int
    denominator: int
    claims: int
    running: int
    by_deadline: int = 0

    @property
    def value(self) -> Fraction | None:
        """The value, exact; None where nothing was there to measure."""
        return Fraction(self.numerator, self.denominator) if self.denominator else None


@dataclass(frozen=True, slots=True)
class Target:
    """What one rule asks of a KPI."""

    rule: str
    bound: Bound
    value: Fraction

    def is_met(self, measure: Measure) -> bool | None:
        """Whether it is; None where there is nothing to judge."""
        value = measure.value
        return None if value is None else self.bound.holds(value, self.value)


@dataclass(frozen=True, slots=True)
class Kpi:
    """One KPI: how often it is looked at, what it is told in, how it is counted, and what is asked of it."""

    name: KpiName
    title: str
    formula: str
    frequency: Frequency
    unit: Unit
    measure: Callable[[Counted], Measure]
    targets: tuple[Target, ...]


def _success(counted: Counted) -> Measure:
    tally = counted.tally
    closed = tally.retried - tally.running_retried
    return Measure(tally.recovered, closed, closed, tally.running_retried)


def _mean_attempts(counted: Counted) -> Measure:
    tally = counted.tally
    return Measure(tally.retries_sent, tally.recovered, tally.recovered, tally.running_retried)


def _mean_time(counted: Counted) -> Measure:
    tally = counted.tally
    return Measure(tally.since_send_us, tally.timed * SECOND_US, tally.timed, tally.running_retried)


def _median_time(counted: Counted) -> Measure:
    low, high = counted.middle_us or (0, 0)
    parts = 2 * SECOND_US if counted.middle_us else 0
    return Measure(low + high, parts, counted.tally.timed, counted.tally.running_retried)


def _lost(counted: Counted) -> Measure:
    tally = counted.tally
    closed = tally.retried - tally.running_retried
    return Measure(tally.spent, closed, closed, tally.running_retried, tally.ended_by_deadline)


def _permanent(counted: Counted) -> Measure:
    return _of_decided(counted.tally, counted.tally.permanent)


def _exhausted(counted: Counted) -> Measure:
    return _of_decided(counted.tally, counted.tally.exhausted)


def _of_decided(tally: KpiTally, number: int) -> Measure:
    closed = tally.decided - tally.running
    return Measure(number, closed, closed, tally.running, tally.by_deadline)


SUCCESS_AFTER_RETRY = Kpi(
    KpiName.SUCCESS_AFTER_RETRY,
    "Taxa de sucesso após reenvio",
    "claims taken after at least one retry / closed claims with at least one retry scheduled",
    Frequency.DAILY,
    Unit.SHARE,
    _success,
    (
        Target(BIL_004, Bound.AT_LEAST, Fraction(85, 100)),
        Target(BIL_005, Bound.AT_LEAST, Fraction(80, 100)),
    ),
)
KPIS = (
    SUCCESS_AFTER_RETRY,
    Kpi(
        KpiName.MEAN_ATTEMPTS,
        "Tentativas médias até o sucesso",
        "retries sent until acceptance, mean over recovered claims",
        Frequency.DAILY,
        Unit.NUMBER,
        _mean_attempts,
        (Target(BIL_004, Bound.AT_MOST, Fraction(12, 10)),),
    ),
    Kpi(
        KpiName.LOST_CLAIMS,
        "Cobrança perdida",
        "claims whose retries were spent / closed claims with at least one retry scheduled",
        Frequency.WEEKLY,
        Unit.SHARE,
        _lost,
        (Target(BIL_004, Bound.AT_MOST, Fraction(3, 100)),),
    ),
    Kpi(
        KpiName.TIME_TO_SUCCESS,
        "Tempo até o sucesso (mediana)",
        "from the first failure to the acceptance, median over recovered claims",
        Frequency.DAILY,
        Unit.SECONDS,
        _median_time,
        (Target(BIL_004, Bound.AT_MOST, Fraction(HOUR_SECONDS)),),
    ),
    Kpi(
        KpiName.MEAN_TIME_TO_SUCCESS,
        "Tempo médio até o sucesso",
        "from the first send to the acceptance, mean over recovered claims",
        Frequency.DAILY,
        Unit.SECONDS,
        _mean_time,
        (Target(BIL_005, Bound.AT_MOST, Fraction(2 * HOUR_SECONDS)),),
    ),
    Kpi(
        KpiName.PERMANENT_ERRORS,
        "Taxa de erros permanentes",
        "claims with a permanent decision / closed claims with any decision",
        Frequency.WEEKLY,
        Unit.SHARE,
        _permanent,
        (Target(BIL_005, Bound.BELOW, Fraction(10, 100)),),
    ),
    Kpi(
        KpiName.EXHAUSTED,
        "Taxa de esgotamento de tentativas",
        "claims whose retries ran out (MAX_RETRIES_EXCEEDED) / closed claims with any decision",
        Frequency.WEEKLY,
        Unit.SHARE,
        _exhausted,
        (Target(BIL_005, Bound.BELOW, Fraction(5, 100)),),
    ),
)
