"""What is on record of claims and payers, as far as it can be played again."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from domain.submission import Settled


class Ending(StrEnum):
    """What became of a claim's first round: until it was taken, given up, or is not over.

    `STANDS` needs a person before it can go on, `BY_PERSON` was ended by one.
    """

    AT_ONCE = "AT_ONCE"
    RECOVERED = "RECOVERED"
    PERMANENT = "PERMANENT"
    RETRIES = "RETRIES"
    DEADLINE = "DEADLINE"
    RUNNING = "RUNNING"
    STANDS = "STANDS"
    BY_PERSON = "BY_PERSON"


@dataclass(frozen=True, slots=True)
class PlayedClaim:
    """One claim's first round, as it was or as it was played.

    `unsure` counts sends that were answered by guess: nobody knows what the payer would have said.
    """

    claim_id: str
    payer_id: str
    ending: Ending
    sends: tuple[datetime, ...] = ()
    first_failed_at: datetime | None = None
    is_retried: bool = False
    ended_at: datetime | None = None
    unsure: int = 0

    @property
    def has_failed(self) -> bool:
        """Whether there was anything to decide about it."""
        return self.first_failed_at is not None


@dataclass(frozen=True, slots=True)
class PastSend:
    """One send on record, and what it came to; None where nobody knows."""

    at: datetime
    lasted: timedelta
    result: Settled | None


@dataclass(frozen=True, slots=True)
class PastClaim:
    """A claim on record: when it came, until when it may be sent, its first round's sends, what happened.

    `ended_by_person_at` is when somebody cancelled it within that round.
    """

    claim_id: str
    payer_id: str
    came_at: datetime
    sends: tuple[PastSend, ...]
    real: PlayedClaim
    deadline: datetime | None = None
    ended_by_person_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PayerHold:
    """A person held a payer's claims, or its refusal of our access did; without an end it still does."""

    payer_id: str
    start: datetime
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """All that is played: claims, holds, and the moment up to which things are known."""

    claims: tuple[PastClaim, ...]
    until: datetime
    holds: tuple[PayerHold, ...] = ()
