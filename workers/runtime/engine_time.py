"""How much of a lock is left: a job may have waited on its way, and the engine's clock is not ours."""

import time
from collections.abc import Callable

FORGET_SECONDS = 60.0


class EngineTime:
    """Learns the engine's clock from the freshest job seen lately.

    A job's deadline less its lock is when the engine gave it out. The largest difference to our clock
    belongs to the job that waited least; any other waited longer by as much as its difference is smaller.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._freshest = float("-inf")
        self._seen = float("-inf")

    def left(self, deadline: float, lock: float) -> float:
        """Seconds of the lock that are left now."""
        now = self._seconds()
        difference = deadline - lock - now
        if difference >= self._freshest or now - self._seen > FORGET_SECONDS:
            self._freshest, self._seen = difference, now
        return lock - (self._freshest - difference)
