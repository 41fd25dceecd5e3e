"""What a send, a status query and a cancellation can come to; our own words only, never the payer's."""

from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from typing import assert_never

from domain import submission
from domain.submission import Accepted, AnswerLost, Duplicate, Failed, Glosa, SendOutcome


@dataclass(frozen=True, slots=True)
class Taken:
    """The payer took the batch and gave its protocol number; glosas may come with it."""

    protocol: str
    total: str | None = None
    glosas: tuple[Glosa, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """No resend can mend it: data, message or settings are wrong."""

    code: str
    error: str


@dataclass(frozen=True, slots=True)
class KnownAlready:
    """The payer says that it has this batch, or a guide of it, already."""

    code: str
    error: str


@dataclass(frozen=True, slots=True)
class Transient:
    """It certainly did not arrive, and a later send may; the payer may have said when."""

    code: str
    error: str
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class PayerDown:
    """The payer could not be reached: nothing arrived, and nobody else's claim would either."""

    code: str
    error: str
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The whole message left and no answer we can trust came back: it may have arrived.

    `payer_down` says that the answer speaks of an outage; `protocol` is what a damaged answer
    claims, for a person who recovers it, never for the machine.
    """

    code: str
    error: str
    retry_after: timedelta | None = None
    payer_down: bool = False
    protocol: str | None = None


@dataclass(frozen=True, slots=True)
class AccessDenied:
    """Login or certificate refused: sending on would lock the account, all sends must stop."""

    code: str
    error: str


Failure = Refused | KnownAlready | Transient | PayerDown | Ambiguous | AccessDenied
SubmissionOutcome = Taken | Failure


class ProtocolStatus(IntEnum):
    """How far the payer is with a protocol (`statusProtocolo`)."""

    RECEIVED = 1
    IN_ANALYSIS = 2
    CLEARED_FOR_PAYMENT = 3
    CLOSED_UNPAID = 4
    ANALYSED = 5
    PAID = 6
    NOT_FOUND = 7
    WAITING_FOR_INFORMATION = 8
    CANCELLED = 9
    COURT_BLOCKED = 10


@dataclass(frozen=True, slots=True)
class Situation:
    """The payer's word on a protocol."""

    status: ProtocolStatus
    protocol: str
    lote: str | None = None
    glosas: tuple[Glosa, ...] = ()


StatusOutcome = Situation | Failure


class CancelStatus(IntEnum):
    """What became of a cancellation (`statusCancelamento`)."""

    CANCELLED = 1
    NOT_CANCELLED = 2
    NO_SUCH_GUIDE = 3
    IN_PROGRESS = 4
    NO_SUCH_BATCH = 5
    NO_SUCH_PROTOCOL = 6


@dataclass(frozen=True, slots=True)
class Cancellation:
    """The payer's answer to a cancellation."""

    status: CancelStatus
    lote: str


CancelOutcome = Cancellation | Failure


def speaks_of_outage(outcome: SubmissionOutcome | StatusOutcome | CancelOutcome) -> bool:
    """Whether it counts against the payer's health."""
    return isinstance(outcome, PayerDown) or (isinstance(outcome, Ambiguous) and outcome.payer_down)


def as_send_outcome(outcome: SubmissionOutcome) -> SendOutcome:
    """The same in the domain's words."""
    match outcome:
        case Taken(protocol, total, glosas):
            return Accepted(protocol, glosas, total)
        case KnownAlready(code=code):
            return Duplicate(code)
        case Ambiguous(code, error, retry_after, payer_down, protocol):
            return AnswerLost(error, code, retry_after, payer_down, protocol)
        case AccessDenied(code=code, error=error):
            return submission.AccessDenied(error, code)
        case Refused(code=code, error=error):
            return Failed(error, code)
        case Transient(code, error, retry_after):
            return Failed(error, code, retry_after)
        case PayerDown(code, error, retry_after):
            return Failed(error, code, retry_after, payer_down=True)
        case _:
            assert_never(outcome)
