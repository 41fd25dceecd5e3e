"""Section 7.1 of both rules: every field that they show is in the kept record, and says what is true."""

import json
from typing import Any

import pytest

from domain.outputs import iso_time
from persistence.repositories.draft import DecisionDraft
from persistence.store import Store
from tests.support.builders import CLAIM, NOW, REFUSAL, TIMEOUT, draft, later
from tests.support.rules import audit_fields

RULES = ("RN-BIL-004", "RN-BIL-005")
CASES: dict[str, dict[str, Any]] = {
    "first retry": {},
    "last retry": {"count": 4},
    "moved up": {"count": 4, "deadline": later(hours=4, minutes=30)},
    "spent": {"count": 5},
    "too late": {"count": 1, "deadline": later(hours=4)},
    "permanent": {"error": REFUSAL},
}


def true_values(given: DecisionDraft) -> dict[str, object]:
    """What each field has to say about a decision."""
    decision, retry = given.decision, given.retry
    return {
        "timestamp": iso_time(NOW),
        "claimId": CLAIM,
        "errorMessage": decision.last_error,
        "submissionError": decision.last_error,
        "errorClassification": decision.finding.classification.value,
        "retryCount": given.asked_count + (retry is not None),
        "maxRetries": 5,
        "backoffMinutes": (retry.backoff.seconds + 30) // 60 if retry else 0,
        "nextRetryTime": iso_time(retry.next_retry_time) if retry else None,
        "shouldRetry": retry is not None,
        "retryReason": decision.reason,
        "executionTimeMs": 7,
    }


async def decided(store: Store) -> dict[str, object]:
    """The kept record of the only decision."""
    async with store.reading() as tx:
        [record] = [json.loads(e.data) for e in await tx.audit.of_claim(CLAIM) if e.event == "DECIDED"]
    return dict(record)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("rule", RULES)
async def test_7_1_every_field_that_the_rule_shows_is_kept_and_true(
    store: Store, rule: str, case: str
) -> None:
    given = draft(profile=rule, **({"error": TIMEOUT} | CASES[case]))
    await store.record(given)
    kept, true = await decided(store), true_values(given)
    for field in audit_fields(rule):
        assert (field, kept.get(field, "nothing is kept")) == (field, true[field])


@pytest.mark.parametrize(("rule", "number"), [("RN-BIL-004", 9), ("RN-BIL-005", 10)])
def test_7_1_the_fields_are_read_from_the_rule(rule: str, number: int) -> None:
    assert len(set(audit_fields(rule))) == number
