"""Which troubles of the telemetry stand, and when each is to be told of again."""

from collections.abc import Callable
from dataclasses import dataclass

FIRST_PAUSE_SECONDS = 600.0
LONGEST_PAUSE_SECONDS = 6 * 3_600.0
TRACES, METRICS = "traces", "metrics"
SIGNALS = frozenset({TRACES, METRICS})


@dataclass(frozen=True, slots=True)
class Complaint:
    """Who complains, of what, where; `signal` is what could not be sent, where it is known."""

    part: str
    signal: str | None
    status: str | None
    error: str | None
    where: str

    @property
    def key(self) -> tuple[str | None, ...]:
        """The same trouble has the same: of one that could not be sent it does not matter at which line."""
        return self.part, self.status, self.error, self.signal or self.where


@dataclass(slots=True)
class _Standing:
    """A trouble that stands: how often it was heard of since it was last told, and in all."""

    signal: str | None
    told_at: float
    pause: float = FIRST_PAUSE_SECONDS
    unheard: int = 0
    times: int = 1


class Troubles:
    """Each is told at once, then after pauses that double, and nobody hears of it in between."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._standing: dict[tuple[str | None, ...], _Standing] = {}

    def heard(self, trouble: Complaint) -> int:
        """How often it was heard of since it was last told, if it is to be told now; else 0."""
        now, known = self._seconds(), self._standing.get(trouble.key)
        if known is None:
            self._standing[trouble.key] = _Standing(trouble.signal, now)
            return 1
        known.times, known.unheard = known.times + 1, known.unheard + 1
        if now - known.told_at < known.pause:
            return 0
        times, known.unheard, known.told_at = known.unheard, 0, now
        known.pause = min(2 * known.pause, LONGEST_PAUSE_SECONDS)
        return times

    def end(self, signal: str) -> int:
        """Forget the troubles of a signal, which are over; how often they were heard of."""
        over = [key for key, one in self._standing.items() if one.signal == signal]
        return sum(self._standing.pop(key).times for key in over)
