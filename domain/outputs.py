"""Turns a decision into process variables: plain values under the names the rules give them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import assert_never

from domain.decision import Cause, Decision, Exhausted, Permanent, Retry
from domain.policy import Profile, Shape

MAX_RETRIES_EXCEEDED = "MAX_RETRIES_EXCEEDED"
PERMANENT_ERROR = "PERMANENT_ERROR"


@dataclass(frozen=True, slots=True)
class BpmnError:
    """A business error for the process: code, message for people, variables for the boundary event."""

    code: str
    message: str
    variables: dict[str, object]


def output_variables(decision: Decision, profile: Profile) -> dict[str, object]:
    """The variables that complete the job, also for a decision not to retry that is returned, not thrown."""
    outputs = _retry_outputs(decision) if isinstance(decision, Retry) else _give_up_outputs(decision)
    if profile.shape is Shape.ANALYSIS:
        outputs |= _analysis_outputs(decision)
    return outputs


def bpmn_error(decision: Exhausted | Permanent) -> BpmnError:
    """The error to throw for a decision not to retry."""
    code = error_code(decision)
    return BpmnError(code, f"{decision.reason}: {decision.last_error}", error_variables(decision))


def error_code(decision: Exhausted | Permanent) -> str:
    """The BPMN error code of a decision not to retry."""
    match decision:
        case Exhausted():
            return MAX_RETRIES_EXCEEDED
        case Permanent():
            return PERMANENT_ERROR
    assert_never(decision)


def error_variables(decision: Exhausted | Permanent) -> dict[str, object]:
    """The variables thrown along with the error; the error text is redacted."""
    return {
        "shouldRetry": False,
        "errorClassification": decision.classification.value,
        "errorCategory": decision.finding.category,
        "responsibleTeam": decision.team.value,
        "retryReason": decision.reason,
        "retryCount": decision.retry_count,
        "maxRetries": decision.max_retries,
        "submissionError": decision.last_error,
        "policyVersion": decision.policy_version,
        **_cause(decision),
    }


def cause_of(decision: Decision) -> Cause | None:
    """What ran out, where something did."""
    return decision.cause if isinstance(decision, Exhausted) else None


def audit_record(decision: Decision, profile: Profile) -> dict[str, object]:
    """What a rule wants in the audit trail (7.1), under its own names; the error text is redacted."""
    retry = decision if isinstance(decision, Retry) else None
    left: dict[str, object] = {"leftRules": list(decision.left_rules)} if decision.left_rules else {}
    error_name = "errorMessage" if profile.shape is Shape.SUBMISSION else "submissionError"
    return left | {
        "timestamp": iso_time(decision.decided_at),
        "claimId": decision.claim_id.value,
        error_name: decision.last_error,
        "errorClassification": decision.classification.value,
        "matchedEntry": decision.finding.matched,
        "retryCount": decision.retry_count,
        "maxRetries": decision.max_retries,
        "backoffMinutes": retry.backoff_minutes if retry else 0,
        "nextRetryTime": iso_time(retry.next_retry_time) if retry else None,
        "shouldRetry": retry is not None,
        "retryReason": decision.reason,
        "policyVersion": decision.policy_version,
        **_cause(decision),
    }


def iso_time(time: datetime) -> str:
    """ISO 8601 in UTC with whole seconds, as the rules write it: 2025-01-12T10:52:00Z."""
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _retry_outputs(decision: Retry) -> dict[str, object]:
    return {
        "shouldRetry": True,
        "nextRetryTime": iso_time(decision.next_retry_time),
        "retryCount": decision.retry_count,
        "retryReason": decision.reason,
        "backoffMinutes": decision.backoff_minutes,
    }


def _give_up_outputs(decision: Exhausted | Permanent) -> dict[str, object]:
    return {
        "shouldRetry": False,
        "nextRetryTime": None,
        "retryCount": decision.retry_count,
        "retryReason": decision.reason,
        "backoffMinutes": 0,
        "errorCode": error_code(decision),
        "responsibleTeam": decision.team.value,
        **_cause(decision),
    }


def _cause(decision: Decision) -> dict[str, object]:
    cause = cause_of(decision)
    return {"cause": cause.value} if cause else {}


def _analysis_outputs(decision: Decision) -> dict[str, object]:
    return {
        "maxRetries": decision.max_retries,
        "errorClassification": decision.classification.value,
        "originalError": decision.last_error,
    }
