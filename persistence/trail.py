"""What the audit trail says about one decision: the events of both rules, in their order."""

from collections.abc import Iterator

from domain.decision import Decision, Retry
from domain.outputs import audit_record, iso_time
from domain.redaction import redact
from persistence.canonical import canonical
from persistence.chain import AuditDraft
from persistence.draft import DecisionDraft

RECEIVED = "RECEIVED"
CLASSIFIED = "CLASSIFIED"
COUNTER_CHECKED = "COUNTER_CHECKED"
BACKOFF_COMPUTED = "BACKOFF_COMPUTED"
DECIDED = "DECIDED"
SCHEDULED = "SCHEDULED"


def trail_of(draft: DecisionDraft) -> Iterator[AuditDraft]:
    """Received, classified, counted, computed, decided, scheduled; a claim given up on has no wait."""
    for event, data in _events(draft):
        decision = draft.decision
        yield AuditDraft(str(decision.claim_id), event, decision.decided_at, draft.job_key, canonical(data))


def _events(draft: DecisionDraft) -> Iterator[tuple[str, dict[str, object]]]:
    decision = draft.decision
    yield RECEIVED, _received(draft)
    yield CLASSIFIED, _classified(decision)
    yield COUNTER_CHECKED, {"retryCount": draft.asked_count, "maxRetries": decision.max_retries}
    if isinstance(decision, Retry):
        yield BACKOFF_COMPUTED, _computed(decision)
    yield DECIDED, audit_record(decision) | {"executionTimeMs": draft.elapsed_ms()}
    if isinstance(decision, Retry):
        yield SCHEDULED, _scheduled(decision)


def _received(draft: DecisionDraft) -> dict[str, object]:
    last_sent = draft.decision.last_submission_time
    return {
        "submissionError": draft.decision.last_error,
        "submissionErrorCode": redact(draft.error_code) if draft.error_code else None,
        "lastSubmissionTime": iso_time(last_sent) if last_sent else None,
        "retryCount": draft.asked_count,
        "processInstanceKey": draft.process_instance_key,
        "profile": draft.policy.profile.name,
    }


def _classified(decision: Decision) -> dict[str, object]:
    finding = decision.finding
    return {
        "errorClassification": finding.classification.value,
        "errorCategory": finding.category,
        "matchedEntry": finding.matched,
        "origin": finding.origin.value,
    }


def _computed(decision: Retry) -> dict[str, object]:
    backoff = decision.backoff
    return {
        "baseSeconds": backoff.base_seconds,
        "lowSeconds": backoff.low_seconds,
        "highSeconds": backoff.high_seconds,
        "seconds": backoff.seconds,
        "backoffMinutes": backoff.minutes,
    }


def _scheduled(decision: Retry) -> dict[str, object]:
    return {"nextRetryTime": iso_time(decision.next_retry_time), "retryReason": decision.reason}
