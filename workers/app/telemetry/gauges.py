"""Gauges: read in a loop by those who know them, shown as they were read last."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import structlog

from domain.readings import ReadGauges, Reading

log = structlog.get_logger(__name__)
LONGEST_READ_SECONDS = 10.0
FIRST_PAUSE_SECONDS = 15.0
AT_ONCE = 3
"""How many are asked at once: most connections to the database are for work."""


@dataclass(frozen=True, slots=True)
class GaugeSource:
    """Who reads some gauges; asked at every refresh, or once in so many seconds where that is dear.

    In trouble a dear one is asked again sooner, after pauses that grow until they are as long.
    """

    name: str
    read: ReadGauges
    every_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Asked:
    readings: Sequence[Reading]
    at: float
    trouble: str | None = None
    failures: int = 0

    @property
    def pause_seconds(self) -> float:
        """What has failed so often is left alone for longer and longer."""
        return FIRST_PAUSE_SECONDS * 2.0 ** min(self.failures - 1, 16)


class Gauges:
    """The latest readings; a source that is in trouble is left out, and hurts nobody."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._sources: dict[str, GaugeSource] = {}
        self._asked: dict[str, _Asked] = {}

    def add(self, source: GaugeSource) -> None:
        """Ask this source too; one of the same name before it is asked no more."""
        self._sources[source.name] = source

    def of(self, metric: str) -> Iterable[Reading]:
        """A metric's readings."""
        return [one for asked in list(self._asked.values()) for one in asked.readings if one.metric == metric]

    async def refresh(self) -> None:
        """Ask every source that is due, a few at once in their order.

        Whoever gets no answer, or no turn, in time is left out: nothing shown is older than that.
        """
        turns = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as asking:
            for source in list(self._sources.values()):
                if self._is_due(source):
                    asking.create_task(self._renew(source, turns))

    async def run(self, seconds: float) -> None:
        """Refresh again and again until cancelled."""
        while True:
            await self.refresh()
            await asyncio.sleep(seconds)

    def _is_due(self, source: GaugeSource) -> bool:
        asked = self._asked.get(source.name)
        if asked is None:
            return True
        often = source.every_seconds
        return self._seconds() - asked.at >= (min(often, asked.pause_seconds) if asked.trouble else often)

    async def _renew(self, source: GaugeSource, turns: asyncio.Semaphore) -> None:
        self._asked[source.name] = await self._ask(source, turns)

    async def _ask(self, source: GaugeSource, turns: asyncio.Semaphore) -> _Asked:
        try:
            async with asyncio.timeout(LONGEST_READ_SECONDS), turns:
                return _Asked(await source.read(), self._seconds())
        except Exception as error:  # whatever it is, the worker goes on
            trouble = type(error).__name__  # its text may quote data
            before = self._asked.get(source.name)
            if before is None or before.trouble != trouble:
                log.warning("gauges_left_out", source=source.name, error=trouble)
            return _Asked((), self._seconds(), trouble, before.failures + 1 if before else 1)
