"""What happened, in the rules' own names and fields; plain facts for the outbox."""

from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache

from domain.catalog import ErrorClassification
from domain.claim import ClaimId
from domain.decision import Cause, Decision, Exhausted, Permanent, Retry
from domain.lifecycle_events import LifecycleEvent
from domain.policy import Profile, Shape


class Severity(StrEnum):
    """How much an event matters to people."""

    CRITICAL = "CRITICAL"


@dataclass(frozen=True, slots=True)
class SubmissionRetryScheduledEvent:
    """RN-BIL-004: a retry was scheduled."""

    claim_id: ClaimId
    retry_count: int
    error_classification: ErrorClassification
    next_retry_time: datetime
    backoff_minutes: int
    timestamp: datetime


@dataclass(frozen=True, slots=True)
class SubmissionRetryExhaustedEvent:
    """RN-BIL-004: no retry is left, or no time for one; `cause` says which."""

    claim_id: ClaimId
    retry_count: int
    last_error: str
    timestamp: datetime
    cause: Cause


@dataclass(frozen=True, slots=True)
class RetryScheduledEvent:
    """RN-BIL-005: a retry was scheduled; `version` counts the events of the claim."""

    claim_id: ClaimId
    retry_count: int
    max_retries: int
    backoff_minutes: int
    next_retry_time: datetime
    error_classification: ErrorClassification
    scheduled_at: datetime
    version: int


@dataclass(frozen=True, slots=True)
class MaxRetriesExceededEvent:
    """RN-BIL-005: no retry is left, or no time for one; `cause` says which.

    `total_attempts` counts sends that happened: those on record, or, for a claim that another process sends,
    the first one and its retries. `total_duration` runs from the first failure, None when that is unknown.
    """

    claim_id: ClaimId
    final_error: str
    total_attempts: int
    total_duration: timedelta | None
    exceeded_at: datetime
    cause: Cause
    severity: Severity = Severity.CRITICAL


@dataclass(frozen=True, slots=True)
class PermanentErrorDetectedEvent:
    """Both rules: no retry can mend the error."""

    claim_id: ClaimId
    error_type: str
    error_message: str
    detected_at: datetime
    severity: Severity = Severity.CRITICAL


DomainEvent = (
    SubmissionRetryScheduledEvent
    | SubmissionRetryExhaustedEvent
    | RetryScheduledEvent
    | MaxRetriesExceededEvent
    | PermanentErrorDetectedEvent
)


@dataclass(frozen=True, slots=True)
class PastFailures:
    """What is known about a claim beside its decision: the event's number, the first failure, its sends."""

    version: int = 1
    first_failure: datetime | None = None
    sends: int | None = None


UNKNOWN_PAST = PastFailures()


def events_of(
    decision: Decision, profile: Profile, past: PastFailures = UNKNOWN_PAST
) -> tuple[DomainEvent, ...]:
    """The events a decision gives rise to, under the rule that the profile follows."""
    return (_event(decision, profile, past),)


def _event(decision: Decision, profile: Profile, past: PastFailures) -> DomainEvent:
    match decision:
        case Retry() if profile.shape is Shape.SUBMISSION:
            return _submission_scheduled(decision)
        case Retry():
            return _scheduled(decision, past.version)
        case Exhausted() if profile.shape is Shape.SUBMISSION:
            return _submission_exhausted(decision)
        case Exhausted():
            return _exceeded(decision, past)
        case Permanent():
            return _permanent(decision)


def payload(event: DomainEvent | LifecycleEvent) -> dict[str, object]:
    """The event as plain JSON values under camelCase names."""
    return {_camel(field.name): _plain(getattr(event, field.name)) for field in fields(event)}


def _submission_scheduled(decision: Retry) -> SubmissionRetryScheduledEvent:
    return SubmissionRetryScheduledEvent(
        claim_id=decision.claim_id,
        retry_count=decision.retry_count,
        error_classification=decision.classification,
        next_retry_time=decision.next_retry_time,
        backoff_minutes=decision.backoff_minutes,
        timestamp=decision.decided_at,
    )


def _scheduled(decision: Retry, version: int) -> RetryScheduledEvent:
    return RetryScheduledEvent(
        claim_id=decision.claim_id,
        retry_count=decision.retry_count,
        max_retries=decision.max_retries,
        backoff_minutes=decision.backoff_minutes,
        next_retry_time=decision.next_retry_time,
        error_classification=decision.classification,
        scheduled_at=decision.decided_at,
        version=version,
    )


def _submission_exhausted(decision: Exhausted) -> SubmissionRetryExhaustedEvent:
    return SubmissionRetryExhaustedEvent(
        claim_id=decision.claim_id,
        retry_count=decision.retry_count,
        last_error=decision.last_error,
        timestamp=decision.decided_at,
        cause=decision.cause,
    )


def _exceeded(decision: Exhausted, past: PastFailures) -> MaxRetriesExceededEvent:
    first = past.first_failure
    return MaxRetriesExceededEvent(
        claim_id=decision.claim_id,
        final_error=decision.last_error,
        total_attempts=decision.retry_count + 1 if past.sends is None else past.sends,
        total_duration=decision.decided_at - first if first else None,
        exceeded_at=decision.decided_at,
        cause=decision.cause,
    )


def _permanent(decision: Permanent) -> PermanentErrorDetectedEvent:
    return PermanentErrorDetectedEvent(
        claim_id=decision.claim_id,
        error_type=decision.finding.category,
        error_message=decision.last_error,
        detected_at=decision.decided_at,
    )


@cache
def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _plain(value: object) -> object:
    match value:
        case ClaimId() | StrEnum():
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case timedelta():
            return int(value.total_seconds())
        case _:
            return value
