"""Places: a claim that finds all of its payer's taken waits for one in the worker, where that is soon.

Nothing is promised by it: whether a claim may go is decided when its send begins, for all workers together.
It only spares claims the way round through the engine's timer. Whoever would wait too long, or take up slots
that claims for other payers need, goes round, with a turn that follows from how fast places become free.
When the worker stops, whoever has no place is turned away at once: another worker sends it.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Any

from domain.verdicts import PlaceWait

SLOTS = 32
FIRST_GUESS_SECONDS = 0.25
"""How long a place is kept, before any was: whoever comes back too early is told better."""
NEWEST_PART = 0.2
MOST_LINES = 256


class PlacesClosedError(Exception):
    """The worker stops, and begins no send any more."""


@dataclass(frozen=True, slots=True)
class PlaceTerms:
    """How long a claim waits for a place here, and when it asks again where other workers have them.

    Who reckons with a place within `at_once` seconds waits in any case, others while slots are left.
    `longest_turn` bounds how far ahead a turn lies: nobody knows for longer how fast a payer will be.
    """

    patience: float = 5.0
    at_once: float = 1.0
    first_pause: float = 0.05
    longest_pause: float = 0.8
    longest_turn: float = 300.0


@dataclass(slots=True)
class _Line:
    """One payer's places as this worker's claims have taken them, and who waits for one.

    `kept` is how long a send keeps its place, a moving mean; `left_at` is when the last one left or all were
    free. `turns_until` is the last turn given to a claim that went round.
    """

    number: int
    taken: int = 0
    waiting: deque[asyncio.Future[bool]] = field(default_factory=deque)
    kept: float | None = None
    left_at: float = float("inf")
    turns_until: float = float("-inf")

    @property
    def is_idle(self) -> bool:
        return not self.taken and not self.waiting

    @property
    def is_free(self) -> bool:
        """Whether a newcomer takes a place without overtaking anybody."""
        return self.taken < self.number and not self.waiting

    def step(self, now: float) -> float:
        """How often a place becomes free: as sends took lately; longer, if none has left for longer."""
        kept = FIRST_GUESS_SECONDS if self.kept is None else self.kept
        return max(kept, now - self.left_at if self.taken >= self.number else kept) / self.number

    def call(self, most: int, *, is_trial: bool = False) -> None:
        """Hand places over to those who have waited longest; each is taken from now on.

        `is_trial`: nobody has left, but there may be more places than are known to be free.
        """
        while self.waiting and most > 0:
            turn = self.waiting.popleft()
            if not turn.done():
                self.taken += 1
                most -= 1
                turn.set_result(is_trial)

    def turn_away(self) -> None:
        """Let nobody wait any more."""
        for turn in self.waiting:
            turn.cancel()

    def learn(self, kept: float, now: float) -> None:
        """A send has left, and had kept its place for so long."""
        self.kept = kept if self.kept is None else self.kept + NEWEST_PART * (kept - self.kept)
        self.left_at = now

    def next_turn(self, now: float, longest: float) -> float:
        """In how long a place is free for one more, after all who wait and all who were given a turn."""
        step = self.step(now)
        turn = max(self.turns_until, now + len(self.waiting) * step) + step
        self.turns_until = min(turn, now + longest)
        return self.turns_until - now


class Places:
    """The places at payers that this worker's sends take up; its time, pauses and chance are handed in."""

    def __init__(
        self,
        terms: PlaceTerms | None = None,
        *,
        seconds: Callable[[], float] = monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = lambda: 0.5,
    ) -> None:
        """`jitter` gives a number from 0 to 1."""
        self.terms = terms or PlaceTerms()
        self.seconds, self.pause, self.jitter = seconds, pause, jitter
        self.sending = self.waiting = 0
        self._lines: dict[str, _Line] = {}
        self._is_closed = False

    @asynccontextmanager
    async def one(self, payer_id: str, number: int, *, slots: int = SLOTS) -> AsyncIterator["PayerPlace"]:
        """One of the payer's `number` places, for one of the `slots` jobs that may run at once."""
        place = PayerPlace(self, self._line(payer_id, number), slots)
        try:
            await place.come()
            yield place
        finally:
            place.leave()

    def close(self) -> None:
        """Turn away whoever waits, and whoever comes from now on; who has a place keeps it."""
        self._is_closed = True
        for line in self._lines.values():
            line.turn_away()

    def require_open(self) -> None:
        """Go on only while the worker does."""
        if self._is_closed:
            raise PlacesClosedError

    def _line(self, payer_id: str, number: int) -> _Line:
        if payer_id not in self._lines and len(self._lines) >= MOST_LINES:
            self._lines = {name: line for name, line in self._lines.items() if not line.is_idle}
        line = self._lines.setdefault(payer_id, _Line(number))
        line.number = number
        return line


class PayerPlace:
    """A claim's place at its payer, its wait for one, or neither where that would take too long."""

    def __init__(self, places: Places, line: _Line, slots: int) -> None:
        self._places, self._line, self._slots = places, line, slots
        self._until = places.seconds() + places.terms.patience
        self._pause = places.terms.first_pause
        self._taken_at: float | None = None
        self._sends = self._has_given_up = self._is_trial = False

    async def come(self) -> None:
        """Take a place, or wait for one."""
        self._places.require_open()
        if self._line.is_free:
            self._take()
        else:
            await self.again()

    async def again(self) -> None:
        """Wait before whoever came later: for a place that becomes free here, or a moment."""
        came_back = self._give_back()
        self._places.require_open()
        if not self._may_wait():
            self._has_given_up = True
        elif not await self._is_called(is_first=came_back):
            self._places.require_open()
            self._has_given_up = self._left() <= 0
            self._is_trial = not self._has_given_up
            if self._is_trial:
                self._take()

    def wait(self) -> PlaceWait:
        """How the claim waits if the places turn out to be taken."""
        if not self._has_given_up:
            return PlaceWait(asks_again=True)
        turn = self._line.next_turn(self._places.seconds(), self._places.terms.longest_turn)
        return PlaceWait(turn_in=timedelta(seconds=turn))

    def began(self) -> None:
        """The claim is being sent; if nobody had left before it, another may find a place too."""
        self._sends = True
        self._places.sending += 1
        if self._is_trial and self._line.taken < self._line.number:
            self._line.call(1, is_trial=True)

    def leave(self) -> None:
        """Hand the place over; where its claim was not sent, all who wait ask what becomes of theirs."""
        line, now = self._line, self._places.seconds()
        if self._sends and self._taken_at is not None:
            line.learn(now - self._taken_at, now)
        had_place = self._give_back()
        if self._sends:
            self._places.sending -= 1
            line.call(1 if line.taken < line.number else 0)
        elif had_place:
            line.turns_until = float("-inf")
            line.call(len(line.waiting))

    def _take(self) -> None:
        self._taken_at = self._places.seconds()
        if not self._line.taken:
            self._line.left_at = self._taken_at
        self._line.taken += 1

    def _give_back(self) -> bool:
        had_place = self._taken_at is not None
        self._line.taken -= had_place
        self._taken_at = None
        return had_place

    def _left(self) -> float:
        return self._until - self._places.seconds()

    def _may_wait(self) -> bool:
        """Whether a place comes soon; if not at once, as many slots are left to others as wait here."""
        line, places = self._line, self._places
        expected = (len(line.waiting) + 1) * line.step(places.seconds())
        if expected <= places.terms.at_once and line.kept is not None:
            return True
        free = self._slots - places.sending - places.waiting
        return expected <= self._left() and len(line.waiting) < free

    async def _is_called(self, *, is_first: bool) -> bool:
        """Whether a place was handed over in time."""
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        waiting = self._line.waiting
        waiting.appendleft(turn) if is_first else waiting.append(turn)
        self._places.waiting += 1
        try:
            await self._first_of(turn)
        finally:
            self._places.waiting -= 1
            with suppress(ValueError):
                waiting.remove(turn)
            if is_called := turn.done() and not turn.cancelled():
                self._taken_at, self._is_trial = self._places.seconds(), turn.result()
        return is_called

    async def _first_of(self, turn: asyncio.Future[bool]) -> None:
        """Until called, or a moment is over; while all places are taken here, only a call is of use."""
        while not turn.done() and (left := self._left()) > 0:
            timer = asyncio.ensure_future(self._places.pause(min(self._next_pause(), left)))
            either: set[asyncio.Future[Any]] = {turn, timer}
            try:
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            finally:
                timer.cancel()
            if self._line.taken < self._line.number:
                return

    def _next_pause(self) -> float:
        """Ever longer, for as long as places are taken, and never the same for all."""
        pause, terms = self._pause, self._places.terms
        self._pause = min(2 * pause, terms.longest_pause)
        return pause * (0.5 + self._places.jitter() / 2)
