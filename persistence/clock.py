"""The clock that all workers of a database share: the database's, whatever their machines say."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from domain.ports import Clock
from persistence.database.trouble import DatabaseError

FRESH = timedelta(seconds=30)
"""How long the database's word is carried on by counting seconds."""
LEAP = timedelta(seconds=1)
"""A machine whose own clock moved by so much beside the counted seconds was set, or was asleep."""
PAUSE = timedelta(seconds=5)
"""How long a database that did not answer is not asked again."""
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the database said, and what this machine's clock and its count of seconds said then."""

    database: datetime
    machine: datetime
    counted: float

    @property
    def ahead(self) -> timedelta:
        """How far the machine is ahead of the database."""
        return self.machine - self.database


class DatabaseClock:
    """Asks the database now and then, and counts seconds in between: no machine's clock counts.

    A machine that differs by more than `tolerance` is named in the log. While the database does not answer,
    its last word is carried on.
    """

    def __init__(
        self,
        ask: Callable[[], Awaitable[datetime]],
        machine: Clock,
        *,
        tolerance: timedelta = timedelta(seconds=5),
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._machine = machine
        self._tolerance = tolerance
        self._seconds = seconds
        self._reading: Reading | None = None
        self._ask_after = float("-inf")
        self._is_warned = False
        self._alone = asyncio.Lock()

    async def now(self) -> datetime:
        """The database's present moment."""
        reading = self._reading
        if reading is None or await self._is_stale(reading):
            reading = await self._read_again(reading)
        return reading.database + self._since(reading)

    def _since(self, reading: Reading) -> timedelta:
        return timedelta(seconds=self._seconds() - reading.counted)

    async def _is_stale(self, reading: Reading) -> bool:
        moved = await self._machine.now() - reading.machine - self._since(reading)
        return self._since(reading) > FRESH or abs(moved) > LEAP

    async def _read_again(self, seen: Reading | None) -> Reading:
        """One asks for all who want to know at the same time."""
        async with self._alone:
            known = self._reading
            if known is not None and (known is not seen or self._seconds() < self._ask_after):
                return known
            try:
                self._reading = await self._read()
            except DatabaseError:
                if known is None:
                    raise
                self._ask_after = self._seconds() + PAUSE.total_seconds()
                return known
            return self._reading

    async def _read(self) -> Reading:
        begun = self._seconds()
        said = await self._ask()
        reading = Reading(said, await self._machine.now(), (begun + self._seconds()) / 2)
        self._warn(reading)
        return reading

    def _warn(self, reading: Reading) -> None:
        """Say it once when a difference begins, and once when it is over."""
        is_apart = abs(reading.ahead) > self._tolerance
        if is_apart != self._is_warned:
            database, machine = reading.database.isoformat(), reading.machine.isoformat()
            if is_apart:
                log.warning("clocks_disagree", database=database, machine=machine, counts="database")
            else:
                log.info("clocks_agree", database=database, machine=machine, counts="database")
        self._is_warned = is_apart
