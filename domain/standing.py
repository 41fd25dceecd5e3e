"""What stands still: past its time while others move. When that is believed, and when it is pushed on.

One look proves nothing: a claim may be late for the moment, or everybody may be. So what is late at two looks
that lie apart stands still, and it is healed when others have moved in between.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

LATE_AFTER = timedelta(minutes=10)
APART = timedelta(minutes=4)
HEAL_AGAIN = timedelta(minutes=30)


class StandingKind(StrEnum):
    """A claim's wait past its end; a claim's job, or a mail's, whose lock has ended."""

    WAIT = "wait"
    JOB = "job"
    MAIL = "mail"


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job in a worker's hands: its key at the engine, its retries, and when its lock ends by that clock."""

    key: int
    retries: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Late:
    """Something that is past its time at one look; `subject` is a claim's or a mail's id."""

    kind: StandingKind
    subject: str
    since: datetime
    job: HeldJob | None = None


@dataclass(frozen=True, slots=True)
class Standstill:
    """What was late at a look, and since then; without `confirmed_at` one look has seen it."""

    kind: StandingKind
    subject: str
    since: datetime
    seen_at: datetime
    confirmed_at: datetime | None = None
    healed_at: datetime | None = None
    heals: int = 0

    @property
    def key(self) -> tuple[StandingKind, str]:
        """What makes it one and the same."""
        return self.kind, self.subject


@dataclass(frozen=True, slots=True)
class Look:
    """The moment of a look, and the last moment at which anything of ours was seen to move."""

    now: datetime
    moved_at: datetime | None


def judge(late: Late, known: Standstill | None, look: Look) -> Standstill:
    """What is late, after this look: seen, standing still, or to be healed at this very moment."""
    if known is None or known.since != late.since:
        return Standstill(late.kind, late.subject, late.since, look.now)
    if look.now - known.seen_at < APART:
        return known
    confirmed = replace(known, confirmed_at=known.confirmed_at or look.now)
    if not (_others_move(known, look) and _is_due(known, look.now)):
        return confirmed
    return replace(confirmed, healed_at=look.now, heals=known.heals + 1)


def _others_move(known: Standstill, look: Look) -> bool:
    """Whether anybody moved since it was seen, or healed: it stands still itself, so it was another."""
    return look.moved_at is not None and look.moved_at > (known.healed_at or known.seen_at)


def _is_due(known: Standstill, now: datetime) -> bool:
    return known.healed_at is None or now - known.healed_at >= HEAL_AGAIN
