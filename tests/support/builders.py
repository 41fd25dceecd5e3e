"""What contract tests are about: decisions of a known claim at a known time."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from domain.claim import ClaimId
from domain.decision import RetryRequest, decide
from domain.policy import Policy
from persistence.repositories.draft import DecisionDraft
from workers.policy import load_policy
from workers.policy.ruling import Ruling, outcome_of
from workers.runtime.outcome import to_json

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)
CLAIM = "CLM-001-1"
TIMEOUT = "TIMEOUT - Connection timeout after 30s"
REFUSAL = "INVALID_PROCEDURE_CODE - unknown code"
POLICY = load_policy()
_jobs = count(1)


def draft(
    claim: str = CLAIM,
    *,
    error: str = TIMEOUT,
    code: str | None = None,
    now: datetime = NOW,
    profile: str = "RN-BIL-004",
    **changes: Any,
) -> DecisionDraft:
    """A decision about a claim, by default its first, by a job of its own in instance 1."""
    asked = int(changes.pop("count", 0))
    policy: Policy = changes.pop("policy", POLICY).under(profile)
    request = RetryRequest(ClaimId(claim), error, code, asked, deadline=changes.pop("deadline", None))
    decision = decide(request, policy, now)
    values: dict[str, Any] = {
        "job_key": next(_jobs),
        "process_instance_key": 1,
        "asked_count": asked,
        "decision": decision,
        "policy": policy,
        "result": to_json(outcome_of(Ruling(asked, decision, policy))),
        "elapsed_ms": lambda: 7,
    }
    return DecisionDraft(**(values | changes))


def later(**by: float) -> datetime:
    """A moment after NOW."""
    return NOW + timedelta(**by)
