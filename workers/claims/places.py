"""Where a claim's token stands in the model of its process, by our own records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bpmn.names import CANCELLED_END
from domain.claim_state import ClaimState
from persistence.repositories.attempts import AttemptRow
from persistence.repositories.claims import ClaimRow
from persistence.repositories.decisions import StoredDecision
from persistence.repositories.journal import JournalEntry

SUBMIT, DECIDE = "Task_SubmitClaim", "Task_DecideRetry"
NOTIFY_TEAM, NOTIFY_BILLING = "Task_NotifyTeam", "Task_NotifyBilling"
CANCELLED_IN_REVIEW = "End_ClaimCancelledInReview"
ELEMENT_OF: Mapping[ClaimState, str] = MappingProxyType(
    {
        ClaimState.RECEIVED: "Start_ClaimReady",
        ClaimState.SUBMITTING: SUBMIT,
        ClaimState.FAILED: DECIDE,
        ClaimState.WAITING: "Gateway_WaitForRetry",
        ClaimState.IN_REVIEW: "Gateway_WaitForDecision",
        ClaimState.ACCEPTED: "End_ClaimAccepted",
        ClaimState.CANCELLED: CANCELLED_END,
        ClaimState.WRITTEN_OFF: "End_ClaimWrittenOff",
    }
)
"""The element of SUB_06 at which a claim in this state stands, where nothing more is known."""
ELEMENTS = frozenset(ELEMENT_OF.values()) | {NOTIFY_TEAM, NOTIFY_BILLING, CANCELLED_IN_REVIEW}
"""All that may be answered; incidents aside, which name their own."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a claim's place is told from, beside its row."""

    sends: Sequence[AttemptRow]
    decisions: Sequence[StoredDecision]
    journal: Sequence[JournalEntry]


def element_of(claim: ClaimRow, trace: Trace) -> str:
    """The element at which the claim's process stands, or at which it has ended."""
    if claim.incident:
        return claim.incident.element_id
    if claim.state is ClaimState.FAILED:
        return _after_failure(claim, trace.decisions)
    if claim.state is ClaimState.CANCELLED and _ended_in_review(trace):
        return CANCELLED_IN_REVIEW
    return ELEMENT_OF[claim.state]


def _after_failure(claim: ClaimRow, decisions: Sequence[StoredDecision]) -> str:
    """It is decided about, or was given up and people are being told."""
    newest = decisions[-1] if decisions else None
    if newest is None or newest.should_retry or newest.decided_at < claim.updated_at:
        return DECIDE
    return NOTIFY_BILLING if newest.error_classification != "PERMANENT" or newest.cause else NOTIFY_TEAM


def _ended_in_review(trace: Trace) -> bool:
    """Whether nothing was sent since people were asked last."""
    opened = [entry.at for entry in trace.journal if entry.event == "review_opened"]
    return bool(opened) and all(send.started_at <= opened[-1] for send in trace.sends)
