"""A claim before its payer: who wants to go, and what it is told."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Candidate:
    """A claim that wants to go: its deadline; if it waits, since when and until when, and its slot if any."""

    claim_id: str
    payer_id: str
    deadline: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    slot_at: datetime | None = None


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


Verdict = Go | Hold | Stop
