"""A claim's first round: from the first failure that was decided on until it is taken, given up or ended.

The rules' KPIs count this round. What a person decides afterwards, and what follows, is told apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from domain.decision import Cause, Decision, Exhausted, Permanent

MICROSECOND = timedelta(microseconds=1)
NOT_KNOWN = -1
"""A time that nobody can tell; a number, since a worker of the version before reads no empty one."""


class GivenUp(StrEnum):
    """Why no further retry was made."""

    PERMANENT = "PERMANENT"
    RETRIES = "RETRIES"
    DEADLINE = "DEADLINE"


@dataclass(frozen=True, slots=True)
class FirstFailure:
    """The decision on a claim's first failure, and whether a retry came of it."""

    at: datetime
    is_retried: bool


@dataclass(frozen=True, slots=True)
class DecidedFailure:
    """One decision as the first round sees it."""

    at: datetime
    given_up: GivenUp | None = None


@dataclass(frozen=True, slots=True)
class NumberedSend:
    """One send of a claim."""

    number: int
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Recovery:
    """A claim that was taken in its first round, by a retry.

    Microseconds, since sums of whole numbers have no last digit to lose: from the first failure, and from
    the first send, to the acceptance. Both are `NOT_KNOWN` where a clock was set back in between.
    """

    accepted_at: datetime
    retries_sent: int
    since_failure_us: int
    since_send_us: int


@dataclass(frozen=True, slots=True)
class FirstRound:
    """All that the KPIs know of a claim; without a payer another process sends it."""

    claim_id: str
    payer_id: str | None
    first_failed_at: datetime
    is_retried: bool
    given_up: GivenUp | None = None
    given_up_at: datetime | None = None
    recovery: Recovery | None = None


def given_up_by(decision: Decision) -> GivenUp | None:
    """Why this decision ends the retries, if it does."""
    match decision:
        case Exhausted(cause=Cause.DEADLINE):
            return GivenUp.DEADLINE
        case Exhausted():
            return GivenUp.RETRIES
        case Permanent():
            return GivenUp.PERMANENT
        case _:
            return None


def recovery(
    first_failed_at: datetime, given_up_at: datetime | None, sends: Sequence[NumberedSend], at: datetime
) -> Recovery | None:
    """What the acceptance of the last of these sends means; None when no retry of the first round made it.

    A send that left before its round was given up belongs to it, however late its answer came. Where a
    clock was set back the sends are counted by their numbers, and nobody knows what came before giving up.
    """
    taken = sends[-1]
    if _is_set_back(first_failed_at, sends, at):
        is_retry = len(sends) > 1 and given_up_at is None
        return Recovery(at, len(sends) - 1, NOT_KNOWN, NOT_KNOWN) if is_retry else None
    if given_up_at is not None and taken.started_at >= given_up_at:
        return None
    retries = sum(send.started_at > first_failed_at for send in sends)
    if not retries:
        return None
    return Recovery(
        accepted_at=at,
        retries_sent=retries,
        since_failure_us=(at - first_failed_at) // MICROSECOND,
        since_send_us=(at - sends[0].started_at) // MICROSECOND,
    )


def _is_set_back(first_failed_at: datetime, sends: Sequence[NumberedSend], at: datetime) -> bool:
    """Whether the claim's moments do not follow each other as they happened: its first send failed first."""
    moments, first = [*(send.started_at for send in sends), at], sends[0]
    has_failed_before = first.number == 1 and first.started_at > first_failed_at
    return has_failed_before or moments != sorted(moments) or at < first_failed_at


def first_end(decided: Sequence[DecidedFailure]) -> DecidedFailure | None:
    """The decision that ended the first round, of all decisions about a claim, oldest first."""
    return next((one for one in decided if one.given_up), None)
