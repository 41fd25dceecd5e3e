"""Fits a wait before a claim's deadline, less the time that is kept for a person."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from domain.backoff import BackoffCalculation, RetryLimits
from domain.durations import ONE_SECOND


@dataclass(frozen=True, slots=True)
class TooLate:
    """No time for another attempt, and why."""

    reason: str


def fit(
    backoff: BackoffCalculation, limits: RetryLimits, *, start: datetime, deadline: datetime
) -> BackoffCalculation | TooLate:
    """The wait from `start`; one that is too long is put, by its draw, between shortest wait and reserve."""
    left = seconds_left(limits, start=start, deadline=deadline)
    if backoff.seconds <= left:
        return backoff
    if (room := left - limits.floor_seconds) >= 0:
        seconds = limits.floor_seconds + int(backoff.fraction * room)
        return replace(backoff, seconds=seconds, fitted_from=backoff.seconds)
    passed = left + limits.reserve_seconds <= 0
    return TooLate(f"Deadline {_moment(deadline)} {'has passed' if passed else _kept(limits)}")


def seconds_left(limits: RetryLimits, *, start: datetime, deadline: datetime) -> int:
    """Whole seconds from `start` until only the reserve is left; negative when that moment has passed."""
    return (deadline - start) // ONE_SECOND - limits.reserve_seconds


def fitted_reason(reason: str, limits: RetryLimits, deadline: datetime) -> str:
    """A retry's reason that also says why it comes earlier than its schedule."""
    return f"{reason}, moved up to leave {_minutes(limits)} before the deadline {_moment(deadline)}"


def _kept(limits: RetryLimits) -> str:
    return f"leaves no time for a retry: the last {_minutes(limits)} are kept for a person"


def _minutes(limits: RetryLimits) -> str:
    return f"{limits.reserve_seconds / 60:g} min"


def _moment(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
