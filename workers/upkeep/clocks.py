"""Maintenance removes and seals by the time: it does not run while clocks disagree about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median

from domain.errors import Trouble
from domain.ports import Clock

TOLERANCE = timedelta(minutes=5)
ENGINE = "the engine"


class ClocksDisagree(Trouble):
    """Which clock says what, and which of them stands apart."""

    def __init__(self, readings: Mapping[str, datetime]) -> None:
        said = ", ".join(f"{name} says {at.isoformat(timespec='seconds')}" for name, at in readings.items())
        super().__init__(
            f"Maintenance was not run, because clocks disagree: {said}{_odd_one(readings)}. Set the wrong "
            "one right, then run it again; how far they may differ is CLOCK_TOLERANCE_SECONDS."
        )


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
            raise ClocksDisagree(readings)


def _odd_one(readings: Mapping[str, datetime]) -> str:
    """Of three, the one farthest from the middle; of two, nobody knows."""
    if len(readings) < 3:
        return ""
    middle = median(at.timestamp() for at in readings.values())
    odd = max(readings, key=lambda name: abs(readings[name].timestamp() - middle))
    return f"; {odd} stands apart"
