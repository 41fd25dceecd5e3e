"""Lanes whose backlog a test knows by itself, and turns as a test can read them."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from domain.ports import Clock
from persistence.store import Store
from workers.config.fairness import FairnessSettings
from workers.mail.fair_lanes import FairLanes, LaneNeeds, fair_lanes
from workers.runtime.lanes import Allowance, Lane


class KnownLanes:
    """Says what it was told: which lanes have something waiting, in the order in which they were told."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lanes = list(lanes)
        self._waiting: list[Lane] = []
        self._changed = asyncio.Event()
        self.looks = 0

    def tell(self, *waiting: Lane) -> None:
        """From now on these have something waiting."""
        self._waiting = list(waiting)
        self._changed.set()

    async def waiting(self) -> Sequence[Lane]:
        """What was told last."""
        self.looks += 1
        return tuple(self._waiting)

    async def every(self) -> Sequence[Lane]:
        """All lanes."""
        return self._lanes

    async def until_changed(self, seconds: float) -> None:
        """Until something is told."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()


class CountedRoom:
    """At most so many at once, here alone; who begins and ends says so."""

    def __init__(self, at_once: int) -> None:
        self.free = at_once
        self.asked = 0

    async def room(self, tenant: str, most: int) -> Allowance:  # noqa: ARG002  # the port's signature
        """What is free."""
        self.asked += 1
        return Allowance(max(0, min(most, self.free)), 0.01, for_all=True)


class FixedClock:
    """Always the same moment."""

    async def now(self) -> datetime:
        """That moment."""
        return datetime(2026, 1, 12, 10, 40, tzinfo=UTC)


def plain_lanes(store: Store, clock: Clock) -> FairLanes:
    """One lane of a database, within the limits that hold without settings."""
    return fair_lanes(FairnessSettings(), 1, LaneNeeds(store, clock))
