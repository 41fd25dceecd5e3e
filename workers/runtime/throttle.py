"""How many reports may be under way: found out by trying, as the broker's own limit moves."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

CUT, SLOW_SECONDS, CUT_AT_MOST_EVERY = 0.7, 0.15, 0.25


class Throttle:
    """One more after a round without trouble, a good deal fewer when the broker is crowded.

    The broker counts reports in flight against the limit at which it refuses to hand out jobs.
    """

    def __init__(self, *, least: int, most: int, seconds: Callable[[], float] = time.monotonic) -> None:
        self.limit = float((least + most) // 2)
        self._least = least
        self._most = most
        self._seconds = seconds
        self._cut_at = float("-inf")
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._under_way < int(self.limit) and not self._waiting:
            self._under_way += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        """One fewer under way; whoever waits longest goes next, one for each free place."""
        self._under_way -= 1
        while self._waiting and self._under_way < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)

    def went_well(self, took: float) -> None:
        """A report was answered after so many seconds."""
        if took > SLOW_SECONDS:
            self.crowded()
        else:
            self.limit = min(self._most, self.limit + 1 / self.limit)

    def crowded(self) -> None:
        """The broker is slow or refuses; once in a while that cuts the limit."""
        now = self._seconds()
        if now - self._cut_at >= CUT_AT_MOST_EVERY:
            self._cut_at = now
            self.limit = max(self._least, self.limit * CUT)
