"""Periods that KPIs are told for: days and weeks of the policy's zone, or any run of days."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum

A_DAY = timedelta(days=1)
A_WEEK = timedelta(days=7)


class Frequency(StrEnum):
    """How often a rule looks at an indicator."""

    DAILY = "day"
    WEEKLY = "week"


@dataclass(frozen=True, slots=True)
class Period:
    """Whole days, the last included, as a zone counts them."""

    first: date
    last: date
    zone: tzinfo

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise ValueError(f"a period cannot end on {self.last} when it begins on {self.first}")

    @property
    def start(self) -> datetime:
        """Its first moment."""
        return _midnight(self.first, self.zone)

    @property
    def end(self) -> datetime:
        """The first moment after it."""
        return _midnight(self.last + A_DAY, self.zone)

    @property
    def days(self) -> int:
        """How many days it has."""
        return (self.last - self.first).days + 1

    @property
    def before(self) -> "Period":
        """The period of the same length that ends where this one begins."""
        return Period(self.first - self.days * A_DAY, self.first - A_DAY, self.zone)

    @property
    def name(self) -> str:
        """Its day, or its first and last day."""
        return f"{self.first}" if self.days == 1 else f"{self.first}..{self.last}"


@dataclass(frozen=True, slots=True)
class Span:
    """From one moment up to another, for who looks at the last hours and not at days."""

    start: datetime
    end: datetime


def _midnight(day: date, zone: tzinfo) -> datetime:
    """In UTC: where clocks skip midnight, it is the moment at which they do."""
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def day_of(day: date, zone: tzinfo) -> Period:
    """One day."""
    return Period(day, day, zone)


def week_of(day: date, zone: tzinfo) -> Period:
    """The week of a day, Monday to Sunday."""
    monday = day - day.weekday() * A_DAY
    return Period(monday, monday + 6 * A_DAY, zone)


def period_of(frequency: Frequency, day: date, zone: tzinfo) -> Period:
    """The day, or its week."""
    return day_of(day, zone) if frequency is Frequency.DAILY else week_of(day, zone)


def latest_complete(frequency: Frequency, now: datetime, zone: tzinfo) -> Period:
    """The last day, or week, that is over: nothing more can be added to it but what becomes of its claims."""
    return period_of(frequency, now.astimezone(zone).date(), zone).before


def run_up_to(last: Period, number: int) -> Sequence[Period]:
    """So many periods of the same length that follow each other, oldest first, this one last."""
    periods = [last]
    for _ in range(number - 1):
        periods.append(periods[-1].before)
    return periods[::-1]


def cut_at(whole: Period, parts: Sequence[Period]) -> Sequence[Period]:
    """A period in pieces: the parts, which follow each other in it, and what lies before and after them."""
    first, last = parts[0], parts[-1]
    head = [Period(whole.first, first.first - A_DAY, whole.zone)] if whole.first < first.first else []
    tail = [Period(last.last + A_DAY, whole.last, whole.zone)] if last.last < whole.last else []
    return [*head, *parts, *tail]


def parts_of(whole: Period, frequency: Frequency, at_most: int) -> Sequence[Period]:
    """The last days or weeks of a period, oldest first; a week counts that is in it to its end."""
    last = period_of(frequency, whole.last, whole.zone)
    if last.last > whole.last:
        last = last.before
    parts = [part for part in run_up_to(last, at_most) if part.first >= whole.first]
    return parts or [whole]
