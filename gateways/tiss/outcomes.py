"""What a status question and a cancellation can come to; what a send can stands in the domain."""

from dataclasses import dataclass
from enum import IntEnum

from domain.submission import Failure, Glosa


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
