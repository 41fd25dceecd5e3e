"""Where a claim stands in its model, by its record and its story."""

from dataclasses import replace
from datetime import timedelta

import pytest

from domain.claim_state import ClaimState
from persistence.repositories.attempts import AttemptRow
from persistence.repositories.claims import ClaimRow
from persistence.repositories.decisions import StoredDecision
from persistence.repositories.incidents import StuckJob
from persistence.repositories.journal import JournalEntry
from tests.support.builders import NOW
from workers.claims.places import ELEMENT_OF, Trace, element_of

NOTHING = Trace((), (), ())
CLAIM = ClaimRow("CLM-1-1", "p", ClaimState.FAILED, 1, None, None, None, NOW)
GIVEN_UP = StoredDecision(
    claim_id="CLM-1-1",
    retry_count=0,
    process_instance_key=1,
    round=0,
    job_key=1,
    attempt_number=1,
    submission_error="",
    error_classification="PERMANENT",
    error_category="",
    max_retries=5,
    backoff_minutes=0,
    should_retry=False,
    retry_reason="",
    policy_version="",
    decided_at=NOW,
    next_retry_time=None,
    audit_sequence=1,
    result={},
)


@pytest.mark.parametrize("state", ClaimState)
def test_without_more_than_its_record_a_claim_stands_where_its_state_is(state: ClaimState) -> None:
    assert element_of(replace(CLAIM, state=state), NOTHING) == ELEMENT_OF[state]


def test_a_claim_on_an_incident_stands_at_the_task_that_raised_it() -> None:
    stuck = StuckJob("", NOW, "open-review", 1, 1, "Task_OpenReview", 1, 1)
    assert element_of(replace(CLAIM, incident=stuck), NOTHING) == "Task_OpenReview"


@pytest.mark.parametrize(
    ("decision", "place"),
    [
        (GIVEN_UP, "Task_NotifyTeam"),
        (replace(GIVEN_UP, error_classification="TRANSIENT", cause="RETRIES"), "Task_NotifyBilling"),
        (replace(GIVEN_UP, should_retry=True), "Task_DecideRetry"),
        (replace(GIVEN_UP, decided_at=NOW - timedelta(hours=1)), "Task_DecideRetry"),  # of an earlier send
    ],
)
def test_a_claim_that_was_given_up_is_being_told_to_people(decision: StoredDecision, place: str) -> None:
    assert element_of(CLAIM, Trace((), (decision,), ())) == place


@pytest.mark.parametrize(
    ("sent_after", "place"), [(-1, "End_ClaimCancelledInReview"), (1, "End_ClaimCancelled")]
)
def test_a_cancelled_claim_ended_in_its_review_or_in_a_wait_since(sent_after: int, place: str) -> None:
    asked = JournalEntry(1, CLAIM.claim_id, NOW, "review_opened", "")
    send = AttemptRow(1, NOW + timedelta(hours=sent_after), "FAILED", None)
    cancelled = replace(CLAIM, state=ClaimState.CANCELLED)
    assert element_of(cancelled, Trace((send,), (), (asked,))) == place
