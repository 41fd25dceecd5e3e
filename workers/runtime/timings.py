"""How long the runtime waits: every pause and limit that is not a handler's own."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds, unless the name says otherwise."""

    long_poll: float = 10.0
    poll_grace: float = 5.0
    refill_share: float = 0.5
    refill_linger: float = 0.2
    first_pause: float = 0.05
    longest_pause: float = 10.0
    longest_crowded_pause: float = 1.0
    denied_pause: float = 30.0
    stream_life: float = 3600.0
    fewest_reports: int = 8
    most_reports: int = 48
    report_try: float = 10.0
    longest_report_pause: float = 5.0
    renew_at_most_every: float = 10.0


class Backoff:
    """Jittered exponential pauses that start over after a success."""

    def __init__(self, rng: random.Random, first: float, longest: float) -> None:
        self._rng = rng
        self._first = first
        self._longest = longest
        self._next = first

    def pause(self) -> float:
        """The next pause, twice the last one at most, never the same for two workers."""
        pause, self._next = self._next, min(self._next * 2, self._longest)
        return pause * self._rng.uniform(0.5, 1.0)

    def start_over(self) -> None:
        """Things went well."""
        self._next = self._first
