"""How many requests a payer takes, and when it is open."""

from collections import deque
from datetime import datetime, timedelta
from math import ceil

from gateways.practice.simulator.scenario import PayerScenario

_MINUTE = timedelta(minutes=1)


class Traffic:
    """Counts the requests of the last minute on the simulator's clock."""

    def __init__(self, payer: PayerScenario) -> None:
        self._payer = payer
        self._recent: deque[datetime] = deque()

    def closed_for(self, now: datetime) -> int:
        """Seconds until the posting window opens; 0 when it is open."""
        hours = self._payer.hours
        if hours is None or hours.covers(now):
            return 0
        return ceil((hours.next_opening(now) - now).total_seconds())

    def busy_for(self, now: datetime) -> int:
        """Seconds until the next request is welcome; 0 when this one is, and it is counted."""
        limit = self._payer.requests_per_minute
        while self._recent and self._recent[0] <= now - _MINUTE:
            self._recent.popleft()
        if limit is not None and len(self._recent) >= limit:
            return max(1, ceil((self._recent[0] + _MINUTE - now).total_seconds()))
        self._recent.append(now)
        return 0
