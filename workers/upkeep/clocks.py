"""Maintenance removes and seals by the time: it does not run while clocks disagree about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median

from domain.errors import Trouble
from domain.ports import Clock

TOLERANCE = timedelta(minutes=5)
ALLOWED = "how far they may differ is CLOCK_TOLERANCE_SECONDS."
DATABASE, ENGINE = "the database", "the engine"


class ClocksDisagree(Trouble):
    """What was not done, which clock says what, and which of them stands apart."""


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """The clocks that must agree; none where the engine's alone counts: it may be moved, in its own home."""

    clocks: Mapping[str, Clock] = field(default_factory=dict)
    tolerance: timedelta = TOLERANCE

    async def agreed(self, engine: datetime | None = None) -> None:
        """Refuse to go on while they differ by more than the tolerance; the engine's is known from a job."""
        readings = {name: await clock.now() for name, clock in self.clocks.items()}
        if readings and engine:
            readings[ENGINE] = engine
        if readings and max(readings.values()) - min(readings.values()) > self.tolerance:
            raise ClocksDisagree(
                f"Maintenance was not run, because clocks disagree: {_said(readings)}. Set the wrong one "
                f"right, then run it again; {ALLOWED}"
            )

    def whether_past(self, engine: datetime | None, now: datetime) -> Callable[[datetime], None]:
        """Refuses to go on where the engine and the time that we live by are apart, and disagree whether a
        moment has passed; no machine's own clock counts."""

        def agreed(moment: datetime) -> None:
            if not self.clocks or engine is None or abs(now - engine) <= self.tolerance:
                return
            if (now >= moment) != (engine >= moment):
                raise ClocksDisagree(
                    "The mail was neither sent nor given up, because clocks disagree: "
                    f"{_said({DATABASE: now, ENGINE: engine})}. Set the wrong one right; {ALLOWED}"
                )

        return agreed


def _said(readings: Mapping[str, datetime]) -> str:
    each = (f"{name} says {at.isoformat(timespec='seconds')}" for name, at in readings.items())
    return ", ".join(each) + _odd_one(readings)


def _odd_one(readings: Mapping[str, datetime]) -> str:
    """Of three, the one farthest from the middle; of two, nobody knows."""
    if len(readings) < 3:
        return ""
    middle = median(at.timestamp() for at in readings.values())
    odd = max(readings, key=lambda name: abs(readings[name].timestamp() - middle))
    return f"; {odd} stands apart"
