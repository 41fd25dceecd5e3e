"""What becomes of claims, payers and mails beside decisions; plain facts for the outbox, without patients."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.payer_status import PayerState


class AcceptedBy(StrEnum):
    """Whose word an acceptance is: the payer's answer, or a person's with the payer's receipt."""

    PAYER = "PAYER"
    PERSON = "PERSON"


class ReviewOutcome(StrEnum):
    """What a person's decision made of a claim in review."""

    RESENT = "RESENT"
    ACCEPTED = "ACCEPTED"
    WRITTEN_OFF = "WRITTEN_OFF"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class ClaimAcceptedEvent:
    """The payer has taken the claim; `attempt` is the send that it took, where one is on record."""

    claim_id: str
    payer_id: str
    protocol_number: str | None
    attempt: int | None
    accepted_by: AcceptedBy
    accepted_at: datetime


@dataclass(frozen=True, slots=True)
class ClaimAcceptanceUndoneEvent:
    """The payer has cancelled a batch that it had accepted: a person has the claim."""

    claim_id: str
    payer_id: str
    protocol_number: str
    undone_at: datetime


@dataclass(frozen=True, slots=True)
class ClaimCancelledEvent:
    """A person cancelled the claim; `order_id` names the order that is on record for it."""

    claim_id: str
    payer_id: str
    order_id: int | None
    cancelled_at: datetime


@dataclass(frozen=True, slots=True)
class ClaimWrittenOffEvent:
    """A person wrote the claim off; `order_id` names the order that is on record for it."""

    claim_id: str
    payer_id: str
    order_id: int | None
    written_off_at: datetime


@dataclass(frozen=True, slots=True)
class ReviewOpenedEvent:
    """A claim waits for a person: why, and for which team; `round` counts its reviews from 0."""

    claim_id: str
    review_id: int
    round: int
    reason: str
    team: str | None
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class ReviewDecidedEvent:
    """A person's decision about a claim in review was carried out."""

    claim_id: str
    outcome: ReviewOutcome
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class PayerStateChangedEvent:
    """A payer's breaker went into another state."""

    payer_id: str
    previous_state: PayerState
    state: PayerState
    reason: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class EmailSentEvent:
    """A mail server took a mail; queue and status by the documents' names."""

    outbox_id: str
    company_id: str
    claim_id: str | None
    template: str
    attempts: int
    sent_at: datetime
    queue: str
    status: str


@dataclass(frozen=True, slots=True)
class EmailDeadLetteredEvent:
    """A mail died; `is_kept` says whether the dead letters had room for it."""

    outbox_id: str
    company_id: str
    claim_id: str | None
    template: str
    failed_attempts: int
    error_code: str | None
    error_reason: str | None
    is_kept: bool
    dead_lettered_at: datetime
    queue: str
    dead_letter_queue: str
    status: str


LifecycleEvent = (
    ClaimAcceptedEvent
    | ClaimAcceptanceUndoneEvent
    | ClaimCancelledEvent
    | ClaimWrittenOffEvent
    | ReviewOpenedEvent
    | ReviewDecidedEvent
    | PayerStateChangedEvent
    | EmailSentEvent
    | EmailDeadLetteredEvent
)
