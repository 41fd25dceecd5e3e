"""The history of one claim's retries, as the aggregate that RN-BIL-005 names."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.catalog import ErrorClassification
from domain.claim import ClaimId
from domain.decision import Decision, Retry


@dataclass(frozen=True, slots=True)
class RetryAttempt:
    """One failure and what was done about it; `backoff_applied` in minutes, 0 when nothing was scheduled."""

    attempt_number: int
    timestamp: datetime
    error: str
    backoff_applied: int


@dataclass(frozen=True, slots=True)
class SubmissionRetryAttempt:
    """Where a claim's retries stand after its latest decision, with all attempts so far."""

    claim_id: ClaimId
    submission_error: str
    error_classification: ErrorClassification
    retry_count: int
    max_retries: int
    backoff_minutes: int
    next_retry_time: datetime | None
    should_retry: bool
    retry_reason: str
    attempt_history: tuple[RetryAttempt, ...]
    created_at: datetime

    @property
    def total_duration(self) -> timedelta:
        """From the first recorded failure to the latest."""
        return self.attempt_history[-1].timestamp - self.created_at


def record(decision: Decision, history: Iterable[RetryAttempt] = ()) -> SubmissionRetryAttempt:
    """The aggregate after a decision; recording a redelivered decision again changes nothing."""
    attempts = _appended(tuple(history), _attempt(decision))
    retry = decision if isinstance(decision, Retry) else None
    return SubmissionRetryAttempt(
        claim_id=decision.claim_id,
        submission_error=decision.last_error,
        error_classification=decision.classification,
        retry_count=decision.retry_count,
        max_retries=decision.max_retries,
        backoff_minutes=retry.backoff_minutes if retry else 0,
        next_retry_time=retry.next_retry_time if retry else None,
        should_retry=retry is not None,
        retry_reason=decision.reason,
        attempt_history=attempts,
        created_at=attempts[0].timestamp,
    )


def _attempt(decision: Decision) -> RetryAttempt:
    match decision:
        case Retry():
            number, minutes = decision.retry_count, decision.backoff_minutes
        case _:
            number, minutes = decision.retry_count + 1, 0
    return RetryAttempt(number, decision.decided_at, decision.last_error, minutes)


def _appended(history: tuple[RetryAttempt, ...], attempt: RetryAttempt) -> tuple[RetryAttempt, ...]:
    return history if attempt in history else (*history, attempt)
