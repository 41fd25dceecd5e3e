"""Signs of life: loops that move, and a gateway that answers."""

import time
from collections.abc import Callable

from workers.runtime.events import GatewayAnswered, JobDone, RuntimeEvent

Seconds = Callable[[], float]


class Heartbeat:
    """When a loop last moved."""

    def __init__(self, seconds: Seconds = time.monotonic) -> None:
        self._seconds = seconds
        self._last = seconds()

    def beat(self) -> None:
        """The loop moved."""
        self._last = self._seconds()

    @property
    def age(self) -> float:
        """Seconds since it last did."""
        return self._seconds() - self._last


SILENT_GATEWAY = (
    "the gateway does not answer: see that the engine runs (`reenvio engine status`), or that "
    "ZEEBE_ADDRESS is right and can be reached; work goes on by itself then"
)


class Health:
    """What a probe may ask: does every loop move, does the gateway answer, do we still take work?"""

    def __init__(
        self, *, stalled_after: float = 60.0, silent_after: float = 30.0, seconds: Seconds = time.monotonic
    ) -> None:
        self._stalled_after = stalled_after
        self._silent_after = silent_after
        self._seconds = seconds
        self._loops: dict[str, Heartbeat] = {}
        self._gateway: Heartbeat | None = None
        self.stopping = False

    def loop(self, name: str) -> Heartbeat:
        """A heartbeat for a loop that must keep moving."""
        self._loops[name] = Heartbeat(self._seconds)
        return self._loops[name]

    def note(self, event: RuntimeEvent) -> None:
        """An answer of the gateway is a sign of its life."""
        if isinstance(event, GatewayAnswered | JobDone):
            self._gateway = self._gateway or Heartbeat(self._seconds)
            self._gateway.beat()

    def stalled(self) -> list[str]:
        """The loops that have stopped moving; liveness is their absence."""
        return [name for name, heartbeat in self._loops.items() if heartbeat.age > self._stalled_after]

    def not_ready(self) -> str | None:
        """Why no work should be expected of us now; None when all is well."""
        if self.stopping:
            return "stopping"
        if self._gateway is None or self._gateway.age > self._silent_after:
            return SILENT_GATEWAY
        return None
