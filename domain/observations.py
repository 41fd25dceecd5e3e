"""What our work tells those who watch it, for metrics, logs and traces: facts without patients' data."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from domain.decision import Decision
from domain.payer_status import PayerStatus
from domain.policy import Shape
from domain.standing import StandingKind
from domain.submission import Settled


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """A decision is on record; a job that asked again and got a stored answer is an `OperationRepeated`.

    `profile` has a name that anybody may give it; its `shape` says which rule it follows.
    """

    decision: Decision
    profile: str
    shape: Shape
    payer_id: str | None
    job_key: int
    process_instance_key: int
    seconds: float
    is_at_maximum: bool = False
    """Of a retry: whether its wait before jitter is the longest there is."""


@dataclass(frozen=True, slots=True)
class InputRejected:
    """A job's input broke a rule; nothing was decided."""

    profile: str
    rule: str
    claim_id: str | None
    job_key: int
    process_instance_key: int


@dataclass(frozen=True, slots=True)
class ClaimSent:
    """A send is over and on record; `attempt` counts the claim's sends from 1."""

    claim_id: str
    payer_id: str
    attempt: int
    settled: Settled
    seconds: float
    job_key: int
    process_instance_key: int


@dataclass(frozen=True, slots=True)
class PayerMoved:
    """Another state of a payer's breaker."""

    before: PayerStatus
    after: PayerStatus


@dataclass(frozen=True, slots=True)
class OperationRepeated:
    """An operation was asked for again and got its first answer."""

    operation: str


class MailFate(StrEnum):
    """What became of one attempt to send a mail."""

    SENT = "sent"
    WAITS = "waits"
    DIED = "died"


@dataclass(frozen=True, slots=True)
class MailAttempted:
    """An attempt to send a mail is over; `wait` until the next, if it waits for one.

    `seconds` is what it took; None where nobody has measured it: its worker was lost, or it was never made.
    """

    outbox_id: str
    company_id: str
    lane: str
    attempt: int
    max_attempts: int
    fate: MailFate
    seconds: float | None
    code: str | None = None
    reason: str | None = None
    wait: timedelta | None = None
    is_made: bool = True
    """Whether there was an attempt: not where a mail's time was over before one could begin."""
    is_buried: bool = True
    """Of one that died: whether the dead letters had room."""
    cause: str | None = None
    """Of one that died: what ended it."""
    came_back: bool = False
    """Of one that died: whether its letter lay there before, and was sent again in vain."""
    claim_id: str | None = None
    """The claim that it is about, if there is one, by the id under which it may be told of."""

    @property
    def is_new_letter(self) -> bool:
        """Of one that died: whether there is a dead letter more."""
        return self.is_buried and not self.came_back


@dataclass(frozen=True, slots=True)
class StandstillHealed:
    """What stood still was nudged, and a later look found that it had gone on."""

    kind: StandingKind


@dataclass(frozen=True, slots=True)
class IncidentElsewhere:
    """A job raised an incident that is kept with no claim: it has none, or not one that it sends."""

    job_type: str


@dataclass(frozen=True, slots=True)
class LetterMovedIn:
    """A mail that had found the dead letters full became one when there was room."""

    company_id: str
    code: str | None


Observation = (
    DecisionMade
    | InputRejected
    | ClaimSent
    | PayerMoved
    | OperationRepeated
    | MailAttempted
    | LetterMovedIn
    | StandstillHealed
    | IncidentElsewhere
)
Observe = Callable[[Observation], None]


def nobody_watches(_observation: Observation) -> None:
    """Watched by nobody."""
