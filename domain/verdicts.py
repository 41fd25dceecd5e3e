"""A claim before its payer: who wants to go, and what it is told."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class PlaceWait:
    """How a claim waits where all of its payer's places are taken.

    Its worker asks again in a moment, or says in how long it reckons with a place for it, where it can.
    """

    asks_again: bool = False
    turn_in: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A claim that wants to go: its deadline; if it waits, since when and until when, and its slot if any."""

    claim_id: str
    payer_id: str
    deadline: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    slot_at: datetime | None = None
    place: PlaceWait = PlaceWait()


@dataclass(frozen=True, slots=True)
class Go:
    """The claim may be sent now, or at its slot, which is less than a second away."""

    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing is sent, no attempt is spent; it comes back later, or when it is woken and given a slot."""

    resume_at: datetime
    reason: str
    slot_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Waiting on would use up the time that a person needs before the deadline."""

    reason: str


@dataclass(frozen=True, slots=True)
class NoPlace:
    """All places are taken at this moment; the claim's worker asks again, and nothing is written down."""


Verdict = Go | Hold | Stop | NoPlace
