"""Whether a decision still follows from the policy that was kept with it."""

from datetime import datetime
from typing import Any

from domain.backoff import BackoffCalculation
from domain.claim import ClaimId
from domain.deadline import TooLate
from domain.decision import RetryRequest, decide, scheduled
from domain.durations import whole_second
from domain.errors import DomainError
from domain.outputs import audit_record, iso_time
from domain.policy import Policy
from domain.redaction import ADDRESS, NUMBER, REMOVED
from persistence.audit.chain import AuditEvent
from persistence.audit.earlier_rules import kept_its_text

DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, DomainError)
"""What reading something can raise that was written by nobody of ours."""
ERROR_NAMES = ("errorMessage", "submissionError")


def decision_problem(
    event: AuditEvent, received: dict[str, Any], decided: dict[str, Any], policy: Policy
) -> str | None:
    """Decide again with the kept policy; says what came out differently."""
    try:
        return _difference(event, received, decided, policy)
    except DAMAGE as error:
        return f"it cannot be decided again ({type(error).__name__})"


def _difference(
    event: AuditEvent, received: dict[str, Any], decided: dict[str, Any], policy: Policy
) -> str | None:
    decision = decide(_request(event, received, policy), policy, event.at)
    again = _as_written(audit_record(decision, policy.profile), decided)
    if kept_its_text(received):
        if _was_redacted(str(received["submissionError"])):
            return _wait_problem(event, received, decided, policy)
        again |= {name: received["submissionError"] for name in ERROR_NAMES if name in again}
    differing = sorted(name for name in again if again[name] != decided.get(name))
    return f"it does not follow from its policy: {', '.join(differing)}" if differing else None


def _as_written(again: dict[str, object], decided: dict[str, Any]) -> dict[str, object]:
    """Under the names of the version that wrote it: earlier ones had one for the error, and no cause."""
    names = {"errorMessage": "submissionError"} if "submissionError" in decided else {}
    kept = (name for name in again if name != "cause" or name in decided)
    return {names.get(name, name): again[name] for name in kept}


def _request(event: AuditEvent, received: dict[str, Any], policy: Policy) -> RetryRequest:
    return RetryRequest(
        claim_id=ClaimId(event.claim_id, policy.claim_id_form),
        submission_error=received["submissionError"],
        error_code=received["submissionErrorCode"],
        retry_count=received["retryCount"],
        deadline=_time(received.get("deadline")),
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _was_redacted(error: str) -> bool:
    """What was taken out of a text may have been what decided its class."""
    return any(mark in error for mark in (NUMBER, ADDRESS, REMOVED)) or error.endswith("…")


def _wait_problem(
    event: AuditEvent, received: dict[str, Any], recorded: dict[str, Any], policy: Policy
) -> str | None:
    count = received["retryCount"]
    if (count < policy.limits.max_retries) < bool(recorded["shouldRetry"]):
        return "it does not follow from its policy: shouldRetry"
    if not recorded["shouldRetry"]:
        return None
    wait = scheduled(_request(event, received, policy), policy, event.at)
    return None if _agrees(wait, event, recorded) else "its wait does not follow from its policy"


def _agrees(wait: BackoffCalculation | TooLate, event: AuditEvent, recorded: dict[str, Any]) -> bool:
    if isinstance(wait, TooLate):
        return False
    due = iso_time(whole_second(event.at) + wait.wait)
    return (wait.minutes, due) == (recorded["backoffMinutes"], recorded["nextRetryTime"])
