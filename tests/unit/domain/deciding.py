"""Short ways to ask for a decision in tests; the packaged policy unless told otherwise."""

from datetime import UTC, datetime

from domain.decision import Decision, Exhausted, Permanent, Retry, decide
from domain.inputs import read_request
from domain.policy import Policy
from workers.policy import load_policy

POLICY = load_policy()
BIL_004 = POLICY.under("RN-BIL-004")
BIL_005 = POLICY.under("RN-BIL-005")
NOW = datetime(2025, 1, 12, 10, 40, tzinfo=UTC)
CLAIM = "CLM-001-123"


def decided(error: object, policy: Policy = BIL_004, *, now: datetime = NOW, **variables: object) -> Decision:
    """The decision the worker would come to, variables validated first."""
    given = {"claimId": CLAIM, "submissionError": error} | variables
    return decide(read_request(given, policy), policy, now)


def retried(error: object, policy: Policy = BIL_004, *, now: datetime = NOW, **variables: object) -> Retry:
    """The same, when it must be a retry."""
    decision = decided(error, policy, now=now, **variables)
    assert isinstance(decision, Retry), decision
    return decision


def given_up(error: object, policy: Policy = BIL_004, **variables: object) -> Exhausted | Permanent:
    """The same, when it must not be a retry."""
    decision = decided(error, policy, now=NOW, **variables)
    assert not isinstance(decision, Retry), decision
    return decision
