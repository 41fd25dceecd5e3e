"""The wall's clock, and how one that costs a question is counted on."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from domain.errors import Trouble
from domain.ports import Clock

ASKED_EVERY_SECONDS = 1.0
ASK_AGAIN_SECONDS = 1.0
"""How long an engine that did not answer is not asked again."""
MOVED_SECONDS = 0.25
"""A job given out so much later than we count shows that somebody has moved the engine's clock."""


class WallClock:
    """The machine's own time."""

    async def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a clock said, and our count of seconds then."""

    said: datetime
    counted: float


class CountedClock:
    """An engine's clock, asked once a second and counted on in between, or while it does not answer.

    Jobs tell sooner when it was moved: each says when the engine gave it out.
    """

    def __init__(self, engine: Clock, *, seconds: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._seconds = seconds
        self._reading: _Reading | None = None
        self._is_moved = False
        self._trouble: Trouble | None = None
        self._ask_after = float("-inf")
        self._alone = asyncio.Lock()

    async def now(self) -> datetime:
        """The engine's present moment."""
        reading = self._reading
        if reading is None or self._is_moved or self._age(reading) >= ASKED_EVERY_SECONDS:
            reading = await self._read_again(reading)
        return self._counted_on(reading)

    def gave_out(self, at: float) -> None:
        """A job has come that the engine gave out at this time of its own, in seconds since 1970."""
        if self._reading and at - self._counted_on(self._reading).timestamp() > MOVED_SECONDS:
            self._is_moved = True

    def _counted_on(self, reading: _Reading) -> datetime:
        return reading.said + timedelta(seconds=self._age(reading))

    def _age(self, reading: _Reading) -> float:
        return self._seconds() - reading.counted

    async def _read_again(self, seen: _Reading | None) -> _Reading:
        """One asks for all who want to know at the same time."""
        async with self._alone:
            if self._reading is seen and self._seconds() >= self._ask_after:
                await self._ask()
            if self._reading is None:
                assert self._trouble  # noqa: S101  # whoever asked got either
                raise self._trouble
            return self._reading

    async def _ask(self) -> None:
        begun = self._seconds()
        try:
            said = await self._engine.now()
        except Trouble as trouble:
            self._trouble, self._ask_after = trouble, self._seconds() + ASK_AGAIN_SECONDS
            return
        self._reading, self._is_moved = _Reading(said, (begun + self._seconds()) / 2), False
