"""What the audit trail says about one decision: the events of both rules, in their order."""

from collections.abc import Iterator

from domain.decision import RULES_VERSION, Cause, Decision, Exhausted, Retry
from domain.outputs import audit_record, iso_time
from persistence.audit.chain import AuditDraft
from persistence.database.canonical import canonical
from persistence.repositories.draft import DecisionDraft

RECEIVED = "RECEIVED"
CLASSIFIED = "CLASSIFIED"
COUNTER_CHECKED = "COUNTER_CHECKED"
BACKOFF_COMPUTED = "BACKOFF_COMPUTED"
DEADLINE_CHECKED = "DEADLINE_CHECKED"
DECIDED = "DECIDED"
SCHEDULED = "SCHEDULED"
REJECTED = "REJECTED"


def trail_of(draft: DecisionDraft, elapsed_ms: int) -> Iterator[AuditDraft]:
    """Received, classified, counted, computed, decided, scheduled; a claim given up on has no wait.

    Where a deadline was looked at, an event before the decision says what came of it.
    """
    for event, data in _events(draft, elapsed_ms):
        decision = draft.decision
        yield AuditDraft(str(decision.claim_id), event, decision.decided_at, draft.job_key, canonical(data))


def _events(draft: DecisionDraft, elapsed_ms: int) -> Iterator[tuple[str, dict[str, object]]]:
    decision = draft.decision
    yield RECEIVED, _received(draft)
    yield CLASSIFIED, _classified(decision) | _team(decision)
    yield COUNTER_CHECKED, {"retryCount": draft.asked_count, "maxRetries": decision.max_retries}
    if isinstance(decision, Retry):
        yield BACKOFF_COMPUTED, _computed(decision)
    if decision.deadline and (effect := _effect(decision)):
        reserve = draft.policy.limits.reserve_seconds
        yield DEADLINE_CHECKED, _deadline(decision) | {"reserveSeconds": reserve, "effect": effect}
    yield DECIDED, audit_record(decision, draft.policy.profile) | {"executionTimeMs": elapsed_ms}
    if isinstance(decision, Retry):
        yield SCHEDULED, _scheduled(decision)


def _received(draft: DecisionDraft) -> dict[str, object]:
    last_sent = draft.decision.last_submission_time
    return {
        "submissionError": draft.decision.last_error,
        "submissionErrorCode": draft.decision.error_code,
        "lastSubmissionTime": iso_time(last_sent) if last_sent else None,
        "retryCount": draft.asked_count,
        "processInstanceKey": str(draft.process_instance_key),
        "profile": draft.policy.profile.name,
        "rulesVersion": RULES_VERSION,
        **_deadline(draft.decision),
    }


def _deadline(decision: Decision) -> dict[str, object]:
    return {"deadline": iso_time(decision.deadline)} if decision.deadline else {}


def _classified(decision: Decision) -> dict[str, object]:
    finding = decision.finding
    return {
        "errorClassification": finding.classification.value,
        "errorCategory": finding.category,
        "matchedEntry": finding.matched,
        "origin": finding.origin.value,
    }


def _team(decision: Decision) -> dict[str, object]:
    return {} if isinstance(decision, Retry) else {"responsibleTeam": decision.team.value}


def _computed(decision: Retry) -> dict[str, object]:
    backoff = decision.backoff
    fitted = {"fittedFromSeconds": backoff.fitted_from} if backoff.fitted_from else {}
    return {
        "baseSeconds": backoff.base_seconds,
        "lowSeconds": backoff.low_seconds,
        "highSeconds": backoff.high_seconds,
        "seconds": backoff.seconds,
        "backoffMinutes": backoff.minutes,
        **fitted,
    }


def _effect(decision: Decision) -> str | None:
    match decision:
        case Retry():
            return "KEPT" if decision.backoff.fitted_from is None else "MOVED_UP"
        case Exhausted(cause=Cause.DEADLINE):
            return "ESCALATED"
        case _:
            return None


def _scheduled(decision: Retry) -> dict[str, object]:
    return {"nextRetryTime": iso_time(decision.next_retry_time), "retryReason": decision.reason}
