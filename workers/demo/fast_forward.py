"""Lets engine time run while all claims rest, and announces what happens."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.errors import Trouble
from domain.payer_status import PayerState
from gateways.engine_clock import EngineClock
from persistence.repositories.claims import ClaimRow
from persistence.repositories.journal import JournalEntry
from persistence.store import Store
from workers.demo.people import People
from workers.demo.samples import Sample
from workers.demo.snapshot import Snapshot
from workers.demo.worker_process import WorkerProcess
from workers.payers.limits import LimitsByPayer
from workers.payers.status import PayerView, overview

TICK_SECONDS = 0.1
STRIDE = timedelta(minutes=4)  # shorter than a job's lock: no jump takes a job from the worker that has it
KILL_AFTER, RESTART_AFTER = timedelta(minutes=20), timedelta(minutes=26)
PROBE_TICKS = 30
PATIENCE_SECONDS = 60.0
PAYER_CHANGES = {
    PayerState.OPEN: "does not take claims: they are held, and no attempt is spent",
    PayerState.HALF_OPEN: "may be back: one claim tries",
    PayerState.CLOSED: "takes claims again: those that were held go out one by one",
}


class DemoError(Trouble):
    """The demo cannot go on; the text says why and where to look."""


@dataclass(slots=True)
class DemoParts:
    """What the demo works with."""

    store: Store
    limits: LimitsByPayer
    clock: EngineClock
    worker: WorkerProcess
    people: People
    samples: Sequence[Sample]
    start: datetime


class FastForward:
    """Runs the demo to its end."""

    def __init__(
        self, parts: DemoParts, show: Callable[[Snapshot], None], announce: Callable[[str], None]
    ) -> None:
        self._parts = parts
        self._show = show
        self._announce = announce
        self._entries: list[JournalEntry] = []
        self._payers: dict[str, PayerState] = {}
        self._before: Snapshot | None = None
        self._patience = PROBE_TICKS
        self._worker_step = self._kill_worker

    async def run(self) -> Snapshot:
        """Run until every claim has met its end, or until nothing moves any more."""
        self._announce("the payers are simulated: nothing leaves this machine, no protocol is a payer's")
        await self._parts.people.hand_in(sample for sample in self._parts.samples if not sample.late)
        loop = asyncio.get_running_loop()
        moved_at = loop.time()
        while True:
            before = len(self._entries)
            snapshot = await self._look()
            self._show(snapshot)
            self._announce_changes(snapshot.payers)
            if self._as_expected(snapshot):
                return snapshot
            self._worker_step(snapshot)
            if await self._go_on(snapshot) or len(self._entries) > before:
                moved_at = loop.time()
            elif loop.time() - moved_at > PATIENCE_SECONDS:
                return snapshot
            await asyncio.sleep(TICK_SECONDS)

    async def _look(self) -> Snapshot:
        if (code := self._parts.worker.exit_code) not in (None, -9):
            raise DemoError(f"The worker process ended with exit code {code}.")
        last = self._entries[-1].sequence if self._entries else 0
        async with self._parts.store.reading() as tx:
            claims = await tx.claims.all()
            self._entries += await tx.journal.since(last)
        now = await self._parts.clock.now()
        payers = await overview(self._parts.store, self._parts.limits, now)
        return Snapshot(self._parts.start, now, claims, tuple(self._entries), payers)

    def _as_expected(self, snapshot: Snapshot) -> bool:
        states = {claim.claim_id: claim.state for claim in snapshot.claims}
        return all(states.get(sample.claim_id) is sample.ends for sample in self._parts.samples)

    async def _go_on(self, snapshot: Snapshot) -> bool:
        """When everything rests, let somebody act or time pass; says whether anything was done."""
        before, self._before = self._before, snapshot
        if before is None or not snapshot.rests_since(before):
            return False
        return (
            await self._let_the_late_come(snapshot)
            or await self._let_people_act(snapshot.claims)
            or await self._let_time_pass(snapshot)
        )

    async def _let_the_late_come(self, snapshot: Snapshot) -> bool:
        here = {claim.claim_id for claim in snapshot.claims}
        late = [sample for sample in self._parts.samples if sample.claim_id not in here]
        if late:
            self._announce(f"{len(late)} more claims come in for {late[0].payer_id}")
            await self._parts.people.hand_in(late)
        return bool(late)

    async def _let_people_act(self, claims: Sequence[ClaimRow]) -> bool:
        acted = False
        for claim in claims:
            if deed := await self._parts.people.look_at(claim):
                self._announce(f"{claim.claim_id}: {deed}")
                acted = True
        return acted

    async def _let_time_pass(self, snapshot: Snapshot) -> bool:
        """Jump to the next timer, or towards it; a probe under way gets a few seconds to end."""
        self._patience -= 1
        if snapshot.next_due is None or (snapshot.awaits_probe and self._patience > 0):
            return False
        self._patience = PROBE_TICKS
        await self._parts.clock.advance(min(STRIDE, snapshot.next_due - snapshot.now + timedelta(seconds=1)))
        return True

    def _announce_changes(self, payers: Sequence[PayerView]) -> None:
        for payer in (view.status for view in payers):
            before = self._payers.get(payer.payer_id, PayerState.CLOSED)
            self._payers[payer.payer_id] = payer.state
            if payer.state is not before and payer.state in PAYER_CHANGES:
                self._announce(f"{payer.payer_id} {PAYER_CHANGES[payer.state]}")

    def _kill_worker(self, snapshot: Snapshot) -> None:
        if snapshot.elapsed >= KILL_AFTER and snapshot.is_quiet:
            self._parts.worker.kill()
            self._announce("the worker process is killed (-9): every wait is a timer in the broker")
            self._worker_step = self._restart_worker

    def _restart_worker(self, snapshot: Snapshot) -> None:
        if snapshot.elapsed >= RESTART_AFTER or not snapshot.is_quiet:
            self._parts.worker.start()
            self._announce("a new worker process starts and takes over")
            self._worker_step = self._leave_worker

    def _leave_worker(self, snapshot: Snapshot) -> None:
        """It was killed and started again: nothing more happens to it."""
