"""One pure function from a failed submission to what happens next."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypedDict

from domain.backoff import BackoffCalculation, calculate, derive_draw
from domain.catalog import ErrorClassification, Finding, Origin, Team
from domain.claim import ClaimId
from domain.classification import UNKNOWN_ERROR, classify, known_code
from domain.deadline import TooLate, fit, fitted_reason
from domain.durations import whole_second
from domain.limit_rules import LimitRule
from domain.policy import Policy
from domain.rendering import render

RULES_VERSION = 3
"""The number of the rules' code; one more whenever the same request and policy may be decided otherwise."""
INVALID_ERROR_MESSAGE = "INVALID_ERROR_MESSAGE"
HELD_TO_DEADLINE = "ADMISSION:DEADLINE"
"""The error code of a send that never left: its payer was not available until the deadline came near."""
_HELD = Finding(ErrorClassification.TRANSIENT, "SERVICE_UNAVAILABLE", HELD_TO_DEADLINE, Origin.CODE)


@dataclass(frozen=True, slots=True)
class RetryRequest:
    """A failed submission: which claim, what error, how many retries so far, when last sent, until when."""

    claim_id: ClaimId
    submission_error: str
    error_code: str | None = None
    retry_count: int = 0
    last_submission_time: datetime | None = None
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """What every decision carries; of the error, `last_error` and `error_code` say what may be told."""

    claim_id: ClaimId
    retry_count: int
    max_retries: int
    finding: Finding
    last_error: str
    reason: str
    policy_version: str
    decided_at: datetime
    last_submission_time: datetime | None
    deadline: datetime | None
    left_rules: tuple[LimitRule, ...] = field(default=(), kw_only=True)
    error_code: str | None = field(default=None, kw_only=True)

    @property
    def classification(self) -> ErrorClassification:
        """The error's class."""
        return self.finding.classification

    @property
    def is_of_first_failure(self) -> bool:
        """Whether nothing was retried before it in this round."""
        return self.retry_count == 0

    @property
    def warning(self) -> str | None:
        """A warning for the log when the error was retried without being understood."""
        return self.finding.category if self.finding.matched is None else None


@dataclass(frozen=True, slots=True)
class Retry(Decided):
    """Send again at `next_retry_time`; `retry_count` is the new count."""

    backoff: BackoffCalculation
    next_retry_time: datetime

    @property
    def is_of_first_failure(self) -> bool:
        """Whether the retry that it schedules is the round's first."""
        return self.retry_count == 1

    @property
    def wait(self) -> timedelta:
        """The wait until the next attempt."""
        return self.backoff.wait

    @property
    def backoff_minutes(self) -> int:
        """The wait in whole minutes, for people."""
        return self.backoff.minutes


class Cause(StrEnum):
    """What ran out: the retries, or the time until the deadline."""

    RETRIES = "RETRIES"
    DEADLINE = "DEADLINE"


@dataclass(frozen=True, slots=True)
class Exhausted(Decided):
    """No retry is left, or no time for one; a person decides. `retry_count` is unchanged."""

    cause: Cause = Cause.RETRIES

    @property
    def team(self) -> Team:
        """Whom it reaches, whatever the last error was."""
        return Team.BILLING_MANAGEMENT


@dataclass(frozen=True, slots=True)
class Permanent(Decided):
    """No retry can mend the error; a person corrects it. `retry_count` is unchanged."""

    @property
    def team(self) -> Team:
        """Whom it reaches: the team of the entry that decided."""
        return self.finding.team


Decision = Retry | Exhausted | Permanent


def decide(request: RetryRequest, policy: Policy, now: datetime) -> Decision:
    """Count, classify, compute: the same request, policy and time always give the same decision."""
    if now.tzinfo is None:
        raise ValueError("now needs a time zone")
    return _saying_what_it_leaves(_decide(request, policy, now), policy)


def _saying_what_it_leaves(decision: Decision, policy: Policy) -> Decision:
    if not (left := policy.left_rules):
        return decision
    return replace(decision, reason=f"{decision.reason} (leaves {', '.join(left)})", left_rules=left)


def _decide(request: RetryRequest, policy: Policy, now: datetime) -> Decision:
    basis = _basis(request, policy, now)
    if request.retry_count >= policy.limits.max_retries:
        return _spent(request, policy, basis)
    if basis["finding"].permanent:
        reason = f"Permanent error {basis['finding'].category}, no retry"
        return Permanent(**basis, retry_count=request.retry_count, reason=reason)
    backoff = scheduled(request, policy, now)
    if isinstance(backoff, TooLate):
        count, reason = request.retry_count, backoff.reason
        return Exhausted(**basis, retry_count=count, reason=reason, cause=Cause.DEADLINE)
    return _retry(request, policy, basis, backoff)


def scheduled(request: RetryRequest, policy: Policy, now: datetime) -> BackoffCalculation | TooLate:
    """The wait before the next attempt, fitted into the claim's deadline if it has one."""
    count = request.retry_count
    draw = derive_draw(request.claim_id.value, count, version=policy.version, key=policy.jitter_key)
    backoff = calculate(policy.limits, count, draw)
    if request.deadline is None:
        return backoff
    return fit(backoff, policy.limits, start=whole_second(now), deadline=request.deadline)


def find(request: RetryRequest, policy: Policy) -> Finding:
    """Classify the request's error; what the catalog does not know is named by the profile.

    What keeps a payer from taking claims is no error of a claim that was held for it and never left.
    """
    if request.error_code == HELD_TO_DEADLINE:
        return _HELD
    code = known_code(policy.catalog, request.error_code)
    if found := classify(policy.catalog, request.submission_error, code):
        return found
    if not request.submission_error:
        return Finding(ErrorClassification.TRANSIENT, INVALID_ERROR_MESSAGE)
    return Finding(policy.profile.unknown, UNKNOWN_ERROR)


class _Basis(TypedDict):
    claim_id: ClaimId
    max_retries: int
    finding: Finding
    last_error: str
    policy_version: str
    decided_at: datetime
    last_submission_time: datetime | None
    deadline: datetime | None
    error_code: str | None


def _basis(request: RetryRequest, policy: Policy, now: datetime) -> _Basis:
    finding, held = find(request, policy), request.error_code == HELD_TO_DEADLINE
    return {
        "claim_id": request.claim_id,
        "max_retries": policy.limits.max_retries,
        "finding": finding,
        "last_error": render(policy.catalog, finding) if request.submission_error else "",
        "error_code": request.error_code if held else known_code(policy.catalog, request.error_code),
        "policy_version": policy.label,
        "decided_at": now,
        "last_submission_time": request.last_submission_time,
        "deadline": request.deadline,
    }


def _retry(request: RetryRequest, policy: Policy, basis: _Basis, backoff: BackoffCalculation) -> Retry:
    attempt = request.retry_count + 1
    reason = _retry_reason(policy, attempt)
    if request.deadline and backoff.fitted_from is not None:
        reason = fitted_reason(reason, policy.limits, request.deadline)
    return Retry(
        **basis,
        retry_count=attempt,
        reason=reason,
        backoff=backoff,
        next_retry_time=whole_second(basis["decided_at"]) + backoff.wait,
    )


def _spent(request: RetryRequest, policy: Policy, basis: _Basis) -> Exhausted:
    """All retries are counted; but it was time that ran out where the last one was held and never left."""
    count = request.retry_count
    if request.error_code == HELD_TO_DEADLINE:
        wait = scheduled(request, policy, basis["decided_at"])
        if isinstance(wait, TooLate):
            return Exhausted(**basis, retry_count=count, reason=wait.reason, cause=Cause.DEADLINE)
    return Exhausted(**basis, retry_count=count, reason=_exhausted_reason(policy))


def _retry_reason(policy: Policy, attempt: int) -> str:
    template = policy.profile.reason
    return template.replace("{attempt}", str(attempt)).replace("{limit}", str(policy.limits.max_retries))


def _exhausted_reason(policy: Policy) -> str:
    return f"Maximum of {policy.limits.max_retries} retries exceeded"
