"""How fast mail may leave: at most so many under way, and so many in any minute, for all and for one company.

A meter is one moment: until when the sends made so far reach at the pace (GCRA). A short burst may run ahead
of the pace; the pace is so much slower that burst and pace together stay within the minute's number.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

MINUTE = timedelta(minutes=1)
NO_LIMIT = 2**31 - 1
BUSY = timedelta(milliseconds=100)
"""When to ask again while too many are under way: nobody knows when one ends."""


@dataclass(frozen=True, slots=True)
class MailLimits:
    """`per_minute` None sends as fast as mail comes; `burst` None is a tenth of it."""

    per_minute: int | None = 100
    at_once: int | None = 5
    burst: int | None = None

    def __post_init__(self) -> None:
        """Limits that nothing could pass, or a burst beyond the minute's number, are refused."""
        if any(given is not None and given < 1 for given in (self.per_minute, self.at_once, self.burst)):
            raise ValueError("a limit is at least 1")
        if self.per_minute and self.burst and self.burst > self.per_minute:
            raise ValueError("a burst is no more than the minute's number")

    @property
    def interval(self) -> timedelta:
        """From one send to the next in the long run."""
        if self.per_minute is None:
            return timedelta()
        return -(-MINUTE // (self.per_minute - self._ahead))  # rounded up: never a moment too fast

    @property
    def lead(self) -> timedelta:
        """How far sends may run ahead of the pace."""
        return self.interval * self._ahead

    @property
    def _ahead(self) -> int:
        """How many of a burst run ahead of the pace: all but the first."""
        per_minute = self.per_minute or 1
        return (self.burst or max(1, per_minute // 10)) - 1


@dataclass(frozen=True, slots=True)
class MailMeter:
    """Until when the sends of a scope reach at its pace."""

    scope: str
    paced_until: datetime


@dataclass(frozen=True, slots=True)
class Room:
    """How many may leave now; when none may, the moment from which on it is worth asking again."""

    number: int
    again_at: datetime


def room(meter: MailMeter, limits: MailLimits, *, under_way: int, now: datetime) -> Room:
    """How many sends the limits leave at this moment."""
    slots = NO_LIMIT if limits.at_once is None else max(0, limits.at_once - under_way)
    if slots == 0:
        return Room(0, now + BUSY)
    if not limits.interval:
        return Room(slots, now)
    reach = _reach(meter, limits, now)
    ahead = limits.lead - (reach - now)
    paced = 0 if ahead < timedelta() else ahead // limits.interval + 1
    return Room(min(slots, paced), max(now, reach - limits.lead))


def taken(meter: MailMeter, limits: MailLimits, number: int, now: datetime) -> MailMeter:
    """The meter after so many sends that there was room for."""
    return MailMeter(meter.scope, _reach(meter, limits, now) + number * limits.interval)


def _reach(meter: MailMeter, limits: MailLimits, now: datetime) -> datetime:
    """Not in the past, and no further ahead than sends can reach: such a moment is a wrong clock's."""
    return min(max(meter.paced_until, now), now + limits.lead + limits.interval)
