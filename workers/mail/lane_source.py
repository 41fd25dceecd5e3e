"""Which lanes have mail waiting, as the database knows it."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from time import monotonic

from domain.mail.lanes import all_lanes
from persistence.repositories.mail_lanes import KnownLane
from persistence.store import Store
from workers.mail.limits import told_apart
from workers.runtime.lanes import Lane

SHARERS_SECONDS = 1.0


class StoredLanes:
    """Asks the database; whoever queues mail in this process says so, and nobody waits for the next look."""

    def __init__(self, store: Store, lanes: int) -> None:
        self._store = store
        self._names = all_lanes(lanes)
        self._holders: dict[str, str] = {}
        self._sharers: Mapping[str, Sequence[str]] = {}
        self._sharers_at = float("-inf")
        self._queued = asyncio.Event()

    def queued(self) -> None:
        """Mail was queued here."""
        self._queued.set()

    async def waiting(self) -> Sequence[Lane]:
        """The lanes in which mail waits, the longest waiting first; a shared one for each who waits."""
        with told_apart():
            known = await self._store.look(lambda tx: tx.mail_lanes.known())
        self._holders = {one.lane: one.company_id for one in known}
        waiting = [(one.waits_since, one) for one in known if one.waits_since is not None]
        await self._look_for_sharers(len(known))
        in_order = (one for _, one in sorted(waiting, key=itemgetter(0)))
        return [Lane(one.lane, who) for one in in_order for who in self._companies(one)]

    async def _look_for_sharers(self, taken: int) -> None:
        """Nobody shares a lane while one was never taken; else it is looked at more seldom than all else."""
        if taken < len(self._names) or monotonic() < self._sharers_at:
            return
        with told_apart():
            self._sharers = await self._store.look(lambda tx: tx.mail_lanes.sharers())
        self._sharers_at = monotonic() + SHARERS_SECONDS

    def _companies(self, one: KnownLane) -> Sequence[str]:
        return self._sharers.get(one.lane) or (one.company_id,)

    async def every(self) -> Sequence[Lane]:
        """All lanes: those there are, and those there were that somebody holds."""
        held = (name for name in self._holders if name not in self._names)
        return [Lane(name, self._holders.get(name, f"lane {name}")) for name in (*self._names, *held)]

    async def until_changed(self, seconds: float) -> None:
        """Until mail is queued here, or the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._queued.wait()
        self._queued.clear()
