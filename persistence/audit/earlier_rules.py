"""What can still be proven of a decision that an earlier version of the rules' code made."""

from datetime import datetime
from typing import Any

from domain.decision import RULES_VERSION
from domain.durations import ONE_SECOND, whole_second
from domain.policy import Policy
from persistence.audit.chain import AuditEvent

LAST_WITH_TEXT = 2
"""The last version of the rules' code whose records hold the error's own text, redacted."""


def kept_its_text(received: dict[str, Any]) -> bool:
    """Whether the record holds the error's text; since then it holds what the catalog says of it."""
    return bool(received.get("rulesVersion", 1) <= LAST_WITH_TEXT)


def is_of_earlier_rules(received: dict[str, Any]) -> bool:
    """Whether other rules' code than today's made the decision; the first did not say its number."""
    return bool(received.get("rulesVersion", 1) != RULES_VERSION)


def bounds_problem(
    event: AuditEvent, received: dict[str, Any], decided: dict[str, Any], policy: Policy
) -> str | None:
    """What no version of the rules allows: a retry too many, too soon, too late, or past the deadline."""
    if not decided["shouldRetry"]:
        return None
    if received["retryCount"] >= policy.limits.max_retries:
        return "it does not fit its policy's limits: shouldRetry"
    due = datetime.fromisoformat(decided["nextRetryTime"])
    seconds = (due - whole_second(event.at)) // ONE_SECOND
    deadline = received.get("deadline")
    fits = policy.limits.floor_seconds <= seconds <= policy.limits.cap_seconds
    in_time = deadline is None or due <= datetime.fromisoformat(deadline)
    return None if fits and in_time else "its wait does not fit its policy's limits"
