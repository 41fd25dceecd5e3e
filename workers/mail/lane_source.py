"""Which lanes have mail waiting, as the database knows it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from operator import itemgetter

from domain.mail.lanes import all_lanes
from persistence.store import Store
from workers.mail.permits import told_apart
from workers.runtime.lanes import Lane


class StoredLanes:
    """Asks the database; whoever queues mail in this process says so, and nobody waits for the next look."""

    def __init__(self, store: Store, lanes: int) -> None:
        self._store = store
        self._names = all_lanes(lanes)
        self._holders: dict[str, str] = {}
        self._queued = asyncio.Event()

    def queued(self) -> None:
        """Mail was queued here."""
        self._queued.set()

    async def waiting(self) -> Sequence[Lane]:
        """The lanes in which mail waits, the longest waiting first."""
        with told_apart():
            known = await self._store.look(lambda tx: tx.mail_lanes.known())
        self._holders = {one.lane: one.company_id for one in known}
        waiting = [(one.waits_since, one) for one in known if one.waits_since is not None]
        return [Lane(one.lane, one.company_id) for _, one in sorted(waiting, key=itemgetter(0))]

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
