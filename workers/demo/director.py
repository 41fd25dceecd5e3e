"""The demo's director: lets engine time run while all claims rest, and tells what happens."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.errors import Trouble
from gateways.clock import EngineClock
from persistence.claims import ClaimRow
from persistence.journal import JournalEntry
from persistence.store import Store
from workers.demo.people import People
from workers.demo.picture import Snapshot
from workers.demo.samples import Sample
from workers.demo.worker_process import WorkerProcess

TICK_SECONDS = 0.2
STRIDE = timedelta(minutes=1)
KILL_AFTER, RESTART_AFTER = timedelta(minutes=20), timedelta(minutes=26)
PATIENCE_SECONDS = 60.0


class DemoError(Trouble):
    """The demo cannot go on; the text says why and where to look."""


@dataclass(slots=True)
class Stage:
    """What the director works with."""

    store: Store
    clock: EngineClock
    worker: WorkerProcess
    people: People
    cast: Sequence[Sample]
    start: datetime


class Director:
    """Plays the demo to its end."""

    def __init__(
        self, stage: Stage, show: Callable[[Snapshot], None], announce: Callable[[str], None]
    ) -> None:
        self._stage = stage
        self._show = show
        self._announce = announce
        self._entries: list[JournalEntry] = []
        self._worker_scene = self._act_worker_killed

    async def play(self) -> Snapshot:
        """Run until every claim has met its end, or until nothing moves any more."""
        loop = asyncio.get_running_loop()
        moved_at = loop.time()
        while True:
            before = len(self._entries)
            snapshot = await self._look()
            self._show(snapshot)
            if self._as_expected(snapshot):
                return snapshot
            self._worker_scene(snapshot)
            if await self._let_time_pass(snapshot) or len(self._entries) > before:
                moved_at = loop.time()
            elif loop.time() - moved_at > PATIENCE_SECONDS:
                return snapshot
            await asyncio.sleep(TICK_SECONDS)

    async def _look(self) -> Snapshot:
        if (code := self._stage.worker.exit_code) not in (None, -9):
            raise DemoError(f"The worker process ended with exit code {code}.")
        last = self._entries[-1].sequence if self._entries else 0
        async with self._stage.store.transaction() as tx:
            claims = await tx.claims.all()
            self._entries += await tx.journal.since(last)
        return Snapshot(self._stage.start, await self._stage.clock.now(), claims, tuple(self._entries))

    def _as_expected(self, snapshot: Snapshot) -> bool:
        states = {claim.claim_id: claim.state for claim in snapshot.claims}
        return all(states.get(sample.claim_id) is sample.ends for sample in self._stage.cast)

    async def _let_time_pass(self, snapshot: Snapshot) -> bool:
        """Move the engine's clock when everything rests; says whether it moved."""
        all_here = len(snapshot.claims) == len(self._stage.cast)
        if not (all_here and snapshot.is_quiet):
            return False
        await self._let_people_speak(snapshot.claims)
        if snapshot.next_due is None:
            return False
        await self._stage.clock.advance(min(STRIDE, snapshot.next_due - snapshot.now + timedelta(seconds=1)))
        return True

    async def _let_people_speak(self, claims: Sequence[ClaimRow]) -> None:
        for claim in claims:
            if words := await self._stage.people.look_at(claim):
                self._announce(f"{claim.claim_id}: {words}")

    def _act_worker_killed(self, snapshot: Snapshot) -> None:
        if snapshot.elapsed >= KILL_AFTER and snapshot.is_quiet:
            self._stage.worker.kill()
            self._announce("the worker process is killed (-9): every wait is a timer in the broker")
            self._worker_scene = self._act_worker_back

    def _act_worker_back(self, snapshot: Snapshot) -> None:
        if snapshot.elapsed >= RESTART_AFTER or not snapshot.is_quiet:
            self._stage.worker.start()
            self._announce("a new worker process starts and takes over")
            self._worker_scene = self._act_nothing

    def _act_nothing(self, snapshot: Snapshot) -> None:
        """The worker's part is played."""
