"""Bringing dead letters back in waves: a few first, then more, and none any more once they fail again."""

from dataclasses import dataclass
from datetime import timedelta

FIRST_WAVE = 5
PER_MINUTE = 100
"""03-retry-backoff-dlq's limiter: at most 100 a minute."""
STOP_PERCENT = 20
_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class RedriveTerms:
    """How many go first, how many a minute, at which share of failures it ends, and how long a wave that
    shows nothing new is waited for."""

    first: int = FIRST_WAVE
    per_minute: int = PER_MINUTE
    stop_percent: int = STOP_PERCENT
    patience: timedelta = timedelta(minutes=5)

    def wave_size(self, number: int) -> int:
        """How many letters the wave has, counted from 1: twice as many each time, up to a minute's."""
        return min(self.first << min(number - 1, _DOUBLINGS), self.per_minute)

    @property
    def at_once(self) -> int:
        """How many leave together: as many as a second allows, or one."""
        return max(1, self.per_minute // 60)

    @property
    def pause(self) -> timedelta:
        """Between those that leave together and the next."""
        return timedelta(minutes=1) * self.at_once / self.per_minute


@dataclass(frozen=True, slots=True)
class Wave:
    """Letters that were sent on their way together, and what is known of them."""

    number: int
    size: int
    sent: int = 0
    failed: int = 0

    @property
    def under_way(self) -> int:
        """How many have neither arrived nor failed yet."""
        return self.size - self.sent - self.failed


@dataclass(frozen=True, slots=True)
class WaveUnderWay:
    """Not all of the wave is known."""


@dataclass(frozen=True, slots=True)
class NextWave:
    """Go on, with so many."""

    number: int
    size: int


@dataclass(frozen=True, slots=True)
class RedriveDone:
    """None is left."""


@dataclass(frozen=True, slots=True)
class FailsAgain:
    """Too many of a wave failed again: whatever killed them is not mended."""

    wave: Wave


@dataclass(frozen=True, slots=True)
class NothingHappens:
    """A wave shows nothing new: perhaps nobody sends."""

    wave: Wave


RedriveEnd = RedriveDone | FailsAgain | NothingHappens


def after_wave(
    wave: Wave, left: int, terms: RedriveTerms
) -> WaveUnderWay | NextWave | RedriveDone | FailsAgain:
    """What follows: too many failures end it as soon as they are known; otherwise a wave is over first."""
    if wave.failed * 100 > wave.size * terms.stop_percent:
        return FailsAgain(wave)
    if wave.under_way:
        return WaveUnderWay()
    return next_wave(wave.number + 1, left, terms)


def next_wave(number: int, left: int, terms: RedriveTerms) -> NextWave | RedriveDone:
    """The wave of a number, counted from 1, if any letter is left for it."""
    return NextWave(number, min(terms.wave_size(number), left)) if left > 0 else RedriveDone()
