"""What stands still: past its time while others move. When that is believed, nudged, and held for healed.

One look proves nothing: a claim may be late for the moment, or everybody may be. So what is late at two looks
that lie apart stands still, and it is nudged when others have moved in between. A nudge proves nothing
either: what is found to have gone on soon after one was healed.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

LATE_AFTER = timedelta(minutes=10)
APART = timedelta(minutes=4)
NUDGE_AGAIN = timedelta(minutes=30)
RAREST = timedelta(hours=4)
"""However long it stands still: it is nudged so often."""


class StandingKind(StrEnum):
    """A claim's wait past its end; a claim's job, or a mail's, whose lock has ended."""

    WAIT = "wait"
    JOB = "job"
    MAIL = "mail"


@dataclass(frozen=True, slots=True)
class JobPlace:
    """Where a job stands in its process: enough to begin its task anew, as the job that it was first."""

    instance: int
    element: int
    first_key: int
    element_id: str

    def __str__(self) -> str:
        return f"{self.instance}/{self.element}/{self.first_key}/{self.element_id}"

    @classmethod
    def read(cls, line: str) -> "JobPlace":
        """A place as it was written."""
        instance, element, first_key, element_id = line.split("/", 3)
        return cls(int(instance), int(element), int(first_key), element_id)


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job in a worker's hands: its key at the engine, its retries, and when its lock ends by that clock.

    One that `rests` was put off by us until then: it is on record that it stands on no incident.
    """

    key: int
    retries: int
    until: datetime
    place: JobPlace | None = None
    rests: bool = False

    @property
    def written_place(self) -> str | None:
        """Its place as it is kept."""
        return str(self.place) if self.place else None


@dataclass(frozen=True, slots=True)
class Late:
    """Something that is past its time at one look; `subject` is a claim's or a mail's id."""

    kind: StandingKind
    subject: str
    since: datetime
    job: HeldJob | None = None


@dataclass(frozen=True, slots=True)
class Standstill:
    """What was late at a look, and since then; without `confirmed_at` one look has seen it.

    `nudged_at` is when the engine was last asked to set it going, `nudges` how often it took that.
    """

    kind: StandingKind
    subject: str
    since: datetime
    seen_at: datetime
    confirmed_at: datetime | None = None
    nudged_at: datetime | None = None
    nudges: int = 0

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
    """What is late, after this look: seen, or standing still."""
    if known is None or known.since != late.since or _is_ahead(known, look.now):
        return Standstill(late.kind, late.subject, late.since, look.now)
    if look.now - known.seen_at < APART:
        return known
    return replace(known, confirmed_at=known.confirmed_at or look.now)


def _is_ahead(known: Standstill, now: datetime) -> bool:
    """Written down by a clock that was wrong: nothing of it counts."""
    return max(known.seen_at, known.nudged_at or known.seen_at) > now


def is_due(still: Standstill, look: Look) -> bool:
    """Whether it is to be nudged: it stands still, others moved, and its last nudge had its time."""
    return still.confirmed_at is not None and others_move(still, look) and _is_time(still, look.now)


def is_healed(gone: Standstill, now: datetime) -> bool:
    """Whether what has gone on did so after a nudge that the engine took, and soon."""
    if gone.nudged_at is None or not gone.nudges:
        return False
    return now - gone.nudged_at <= NUDGE_AGAIN


def others_move(still: Standstill, look: Look) -> bool:
    """Whether anybody moved since it was seen, or nudged: it stands still itself, so it was another."""
    return look.moved_at is not None and look.moved_at > (still.nudged_at or still.seen_at)


def _is_time(still: Standstill, now: datetime) -> bool:
    """A nudge in vain is followed by another when it has stood still for twice as long."""
    if still.nudged_at is None:
        return True
    stood = still.nudged_at - still.seen_at
    return now - still.nudged_at >= min(max(stood, NUDGE_AGAIN), RAREST)
