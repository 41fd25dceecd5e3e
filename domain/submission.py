"""What sending a claim can come to, and what that means for the process."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, Protocol

DUPLICATE_CLAIM = "DUPLICATE_CLAIM"
GlosaLevel = Literal["protocol", "guide", "procedure"]


@dataclass(frozen=True, slots=True)
class Submission:
    """One send of one claim to one payer; `attempt` counts every send of the claim, from 1.

    `after_lost_answer` says that an earlier send may have arrived, `after_cancellation` that the payer
    undid one. `content` is the claim's file, read before anything is said to have left.
    """

    claim_id: str
    payer_id: str
    attempt: int
    after_lost_answer: bool = False
    after_cancellation: bool = False
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Glosa:
    """A deduction the payer announces on what it accepted."""

    level: GlosaLevel
    code: str
    meaning: str
    guide: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The payer took the claim and gave its protocol number; `total` is the amount it says it received.

    Glosas may come with it.
    """

    protocol_number: str
    glosas: tuple[Glosa, ...] = ()
    total: str | None = None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The payer says that it has this claim already."""

    code: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The claim certainly did not arrive, or was refused; the payer may have said when to come again."""

    error: str
    code: str | None = None
    retry_after: timedelta | None = None
    payer_down: bool = False


@dataclass(frozen=True, slots=True)
class AnswerLost:
    """The request left and no answer came: nobody here knows whether it arrived.

    `claimed_protocol` is what a damaged answer claims: for a person, never for the machine.
    """

    error: str
    code: str | None = None
    retry_after: timedelta | None = None
    payer_down: bool = False
    claimed_protocol: str | None = None


@dataclass(frozen=True, slots=True)
class AccessDenied:
    """The payer refuses our login or certificate: sending on would lock the account."""

    error: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The payer is known to be down: nothing was sent, and no attempt is spent."""

    reason: str
    resume_at: datetime


SendOutcome = Accepted | Duplicate | Failed | AnswerLost | AccessDenied | Unavailable


@dataclass(frozen=True, slots=True)
class ProtocolMissing:
    """The payer has the claim, but the answer with its protocol number was lost."""


Settled = Accepted | ProtocolMissing | Failed | AnswerLost | AccessDenied | Unavailable


def settle(outcome: SendOutcome, *, answer_was_lost_before: bool) -> Settled:
    """Read a refusal as duplicate in the light of earlier sends.

    After a send whose answer was lost, "duplicate" proves that it arrived: the claim must
    neither fail nor go out again. Without one it is what it says: a permanent refusal.
    """
    if not isinstance(outcome, Duplicate):
        return outcome
    if answer_was_lost_before:
        return ProtocolMissing()
    return Failed(f"{DUPLICATE_CLAIM} - the payer has this claim already", outcome.code)


class PayerGateway(Protocol):
    """Sends a claim to its payer and says what came of it; never raises for what payers do."""

    async def send(self, submission: Submission, now: datetime, /) -> SendOutcome:
        """Send once."""
        ...
