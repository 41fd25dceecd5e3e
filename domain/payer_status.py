"""What is known about a payer's health, and the limits within which it is sent to."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from domain.durations import within_reach

MINUTE = timedelta(minutes=1)
AHEAD = timedelta(seconds=30)
SLOTS_AHEAD, PAGE = 10, 100


class PayerState(StrEnum):
    """Whether claims may go to a payer."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class PayerStatus:
    """One payer's breaker and pace, shared by all workers.

    `failures` counts outages and unclear answers in a row, of each claim one unclear answer at most;
    `openings` counts openings without a success between them; `proven` says that the credentials
    have worked since a person last resumed it. `next_slot_at` is where the lane of new claims goes on,
    `slots_until` the lane of claims that had to wait (None when none is left without a slot),
    `next_wait_slot_at` the timers of those without a slot, `paced_until` where the sends made so far
    reach at the payer's pace. `probe_up` is the last probe's answer.
    """

    payer_id: str
    changed_at: datetime
    state: PayerState = PayerState.CLOSED
    reason: str = ""
    failures: int = 0
    openings: int = 0
    opened_at: datetime | None = None
    next_try_at: datetime | None = None
    not_before: datetime | None = None
    next_slot_at: datetime | None = None
    next_wait_slot_at: datetime | None = None
    slots_until: datetime | None = None
    paced_until: datetime | None = None
    proven: bool = False
    probed_at: datetime | None = None
    probe_up: bool | None = None

    def bounded(self, now: datetime) -> "PayerStatus":
        """The status as it can be reckoned with: no moment of it lies further ahead than any may."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        moments = {name: at for name, at in values.items() if isinstance(at, datetime)}
        return replace(self, **(values | {name: within_reach(at, now) for name, at in moments.items()}))

    def renewed(self, now: datetime) -> "PayerStatus":
        """A healthy payer's status: its wishes, the pace, the timers and the last probe's answer are kept."""
        return PayerStatus(
            self.payer_id,
            now,
            not_before=self.not_before,
            next_wait_slot_at=self.next_wait_slot_at,
            slots_until=self.slots_until,
            paced_until=self.paced_until,
            probed_at=self.probed_at,
            probe_up=self.probe_up,
        )


@dataclass(frozen=True, slots=True)
class PlannedDowntime:
    """A planned maintenance."""

    start: datetime
    end: datetime

    def covers(self, moment: datetime) -> bool:
        """Whether the payer is under maintenance at this moment."""
        return self.start <= moment < self.end


class Hours(Protocol):
    """The hours in which a payer takes claims."""

    def covers(self, moment: datetime, /) -> bool:
        """Whether it does now."""
        ...

    def next_opening(self, moment: datetime, /) -> datetime:
        """The first moment from now on at which it does."""
        ...


@dataclass(frozen=True, slots=True)
class PayerLimits:
    """How a payer is treated; `per_minute` None sends as fast as claims come.

    The breaker opens at an outage when `threshold` failures came in a row, at an unclear answer when
    `unclear_threshold` did.
    Claims that are held come back after ever longer waits, `longest_hold` at most, unless they are woken.
    `share` of the pace belongs to claims that had to wait, the rest to new ones. Timers and clocks are
    not exact: a slot may be used `early`, and late claims may run ahead of the pace by `grace`.
    `reserve` is a person's time before a claim's deadline. A send that has not ended counts as under
    way for `lease`.
    """

    per_minute: int | None = 60
    at_once: int = 4
    threshold: int = 5
    unclear_threshold: int = 10
    trials: int = 1
    first_wait: timedelta = timedelta(minutes=5)
    longest_wait: timedelta = timedelta(minutes=60)
    longest_hold: timedelta = timedelta(hours=12)
    share: float = 0.5
    reserve: timedelta = timedelta(hours=4)
    grace: timedelta = timedelta(seconds=5)
    early: timedelta = timedelta(seconds=1)
    busy_wait: timedelta = timedelta(seconds=10)
    lease: timedelta = timedelta(minutes=5)
    needs_proof: bool = True
    windows: tuple[PlannedDowntime, ...] = ()
    hours: Hours | None = None

    @property
    def interval(self) -> timedelta:
        """From one slot to the next: so long that no minute has more than `per_minute`, whatever is late."""
        return (MINUTE + self.grace) / self.per_minute if self.per_minute else timedelta()

    @property
    def wait_interval(self) -> timedelta:
        """From one slot to the next in the lane of claims that had to wait, beside new ones."""
        return self.interval / self.share

    @property
    def ahead(self) -> timedelta:
        """How far ahead slots are given to claims that wait."""
        return max(AHEAD, SLOTS_AHEAD * self.interval)

    @property
    def page(self) -> int:
        """How many of them are given a slot in one transaction."""
        return min(self.ahead // self.interval, PAGE) if self.interval else PAGE


PRACTICE = PayerLimits(per_minute=None, at_once=10_000, needs_proof=False)
"""For payers that only exist for practice: a breaker, but no pace and no credentials."""
