"""A payer comes back and thousands wait: they get slots page by page, in order, and its pace is used."""

import asyncio
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count, pairwise

import pytest
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.payer_status import PAGE, PayerLimits, PayerState, PayerStatus, PlannedDowntime
from domain.slots import Wait
from domain.submission import Accepted, Submission
from domain.verdicts import Candidate, Go, Hold
from persistence.database.rows import row_of
from persistence.store import Store, Transaction
from persistence.tables import payer_waits
from tests.support.builders import NOW, later
from workers.payers.admission import PayerChange, locked
from workers.payers.limits import LimitsByPayer
from workers.payers.waking import Waker
from workers.upkeep.probing import Probing

PAYER = "302147"
FAST = PayerLimits(per_minute=600, at_once=64, needs_proof=False)
PROBED_EVERY = timedelta(minutes=5)


def name(number: int) -> str:
    """Claims are named in the order in which they have to go."""
    return f"CLM-W-{number:05d}"


def waits(number: int) -> list[Wait]:
    """By rank: the nearest deadlines came last; the second half has none, and goes by when it came."""
    return [
        Wait(
            claim_id=name(rank),
            payer_id=PAYER,
            since=later(seconds=(rank if rank >= number // 2 else -rank) - 2 * number),
            until=later(hours=2, seconds=rank),
            deadline=later(hours=9, seconds=rank) if rank < number // 2 else None,
        )
        for rank in range(number)
    ]


@dataclass
class Recovery:
    """Claims, their timers and wake-ups, and a payer that answers at once; time is a number."""

    database: AsyncEngine
    limits: PayerLimits = FAST
    moment: datetime = NOW
    deaf: bool = False
    absent: set[str] = field(default_factory=set)
    coming: list[tuple[datetime, int, str]] = field(default_factory=list)
    due: dict[str, datetime] = field(default_factory=dict)
    sent: list[tuple[datetime, str]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def store(self) -> Store:
        return Store(self.database)

    async def begin(self, number: int) -> None:
        """So many wait for a payer whose trial is under way."""
        trying = PayerStatus(PAYER, NOW, PayerState.HALF_OPEN, next_try_at=NOW)
        async with self.store.transaction() as tx:
            await tx.payers.lock(PAYER, now=NOW)
            await tx.payers.save(trying)
            await tx.payers.send_began("CLM-0-0", 1, PAYER, until=later(minutes=5))
        await self.arrive(name(number - 1))  # it has to wait for the trial, as all have that came before it
        rows = [row_of(wait) for wait in waits(number)[: number - 1]]
        async with self.database.begin() as connection:
            await connection.execute(insert(payer_waits), rows)

    @property
    def waker(self) -> Waker:
        return Waker(self.store, LimitsByPayer({PAYER: self.limits}), self.wake_up)

    async def wake_up(self, claim_id: str) -> None:
        if not self.deaf and claim_id not in self.absent:
            self.comes(claim_id, self.moment + timedelta(milliseconds=200))

    def comes(self, claim_id: str, at: datetime) -> None:
        """What comes later than this is no more."""
        self.due[claim_id] = at
        heapq.heappush(self.coming, (at, next(self.numbers), claim_id))

    async def accepted(self, claim_id: str) -> None:
        """The payer takes a claim."""
        sent = Submission(claim_id, PAYER, 1)
        self.sent.append((self.moment, claim_id))

        async def finish(tx: Transaction) -> PayerChange:
            return await (await locked(tx, PAYER, self.limits, self.moment)).after_send(sent, Accepted("P-1"))

        if (await self.store.run(finish)).wakes:
            await self.waker.wake(PAYER, self.moment)

    async def arrive(self, claim_id: str) -> None:
        """A claim that comes goes, or comes back when it is told to."""

        async def ask(tx: Transaction) -> Go | Hold:
            payer = await locked(tx, PAYER, self.limits, self.moment)
            verdict = (await payer.admit(Candidate(claim_id, PAYER))).verdict
            assert isinstance(verdict, Go | Hold)
            return verdict

        match await self.store.run(ask):
            case Go():
                await self.accepted(claim_id)
            case Hold(resume_at=resume_at):
                self.comes(claim_id, resume_at)

    async def pass_until(self, end: datetime) -> None:
        """Let everybody come whose time comes until then."""
        while self.coming and self.coming[0][0] <= end:
            at, _, claim_id = heapq.heappop(self.coming)
            if self.due.get(claim_id) == at:
                self.moment = at
                del self.due[claim_id]
                await self.arrive(claim_id)
        self.moment = end

    async def probe(self) -> int:
        """What MAINTENANCE_PAYERS does."""
        return await Probing(self.store, LimitsByPayer({PAYER: self.limits}), self.waker).all(self.moment)

    async def slots(self) -> Sequence[tuple[str, datetime]]:
        """Who has a slot, the earliest first."""
        columns = payer_waits.c
        query = select(columns.claim_id, columns.slot_at).where(columns.slot_at.is_not(None))
        async with self.database.connect() as connection:
            rows = await connection.execute(query.order_by(columns.slot_at))
            return [(row.claim_id, row.slot_at) for row in rows]


@pytest.fixture
def recovery(database: AsyncEngine) -> Recovery:
    return Recovery(database)


async def test_no_transaction_of_a_recovery_handles_more_than_a_page(recovery: Recovery) -> None:
    await recovery.begin(2_000)
    await recovery.accepted("CLM-0-0")
    first = await recovery.slots()
    assert 0 < len(first) <= PAGE
    for _ in range(3):
        recovery.moment += timedelta(seconds=10)
        before = len(await recovery.slots())
        await recovery.waker.wake(PAYER, recovery.moment)
        assert len(await recovery.slots()) - before <= PAGE
    assert (await recovery.slots())[: len(first)] == first


async def test_a_payers_pace_is_used_in_the_order_of_deadlines_while_claims_wait(recovery: Recovery) -> None:
    await recovery.begin(3_000)
    await recovery.accepted("CLM-0-0")
    await recovery.pass_until(later(seconds=45))
    sent = [claim_id for _, claim_id in recovery.sent[1:]]
    assert 0.9 * 450 <= len(sent) <= 450 + 100  # the grace
    assert sent == [name(rank) for rank in range(len(sent))]


async def test_slots_are_given_at_the_payers_pace_and_never_two_alike(recovery: Recovery) -> None:
    await recovery.begin(1_000)
    await recovery.accepted("CLM-0-0")
    slots = await recovery.slots()
    assert [claim_id for claim_id, _ in slots] == [name(rank) for rank in range(len(slots))]
    steps = {after - before for (_, before), (_, after) in pairwise(slots)}
    assert steps == {recovery.limits.interval}


async def test_workers_that_give_slots_at_the_same_time_give_each_claim_one(recovery: Recovery) -> None:
    recovery.limits = PayerLimits(per_minute=6_000, needs_proof=False)
    await recovery.begin(2_000)
    await recovery.accepted("CLM-0-0")
    woken = len(recovery.coming) - 1  # the one that waits since the beginning has a timer
    numbers = await asyncio.gather(*(recovery.waker.wake(PAYER, recovery.moment) for _ in range(4)))
    slots = await recovery.slots()
    assert sum(numbers) + woken == len(slots) == len({at for _, at in slots}) == 5 * PAGE
    assert [claim_id for claim_id, _ in slots] == [name(rank) for rank in range(5 * PAGE)]


async def test_a_claim_whose_timer_ends_before_its_turn_waits_on_behind_those_more_urgent(
    recovery: Recovery,
) -> None:
    await recovery.begin(1_000)
    await recovery.accepted("CLM-0-0")
    for rank in (999, 998):
        await recovery.arrive(name(rank))
    assert recovery.sent == [(NOW, "CLM-0-0")]
    assert recovery.due[name(999)] >= later(minutes=5)
    async with recovery.store.reading() as tx:
        wait = await tx.payers.wait_of(name(999))
        assert wait
        assert wait.slot_at is None
        assert await tx.attempts.count(name(999)) == 0


async def test_after_a_worker_died_with_a_page_the_next_probe_runs_go_on_and_wake_it_again(
    recovery: Recovery,
) -> None:
    await recovery.begin(300)
    recovery.deaf = True
    await recovery.accepted("CLM-0-0")
    lost = {claim_id for claim_id, _ in await recovery.slots()}
    recovery.deaf = False
    for run in range(1, 4):
        await recovery.pass_until(NOW + run * PROBED_EVERY)
        await recovery.probe()
    await recovery.pass_until(NOW + 4 * PROBED_EVERY)
    assert lost
    assert len(recovery.sent) == 301
    async with recovery.store.reading() as tx:
        status = await tx.payers.find(PAYER)
        assert await tx.payers.count_waiting(PAYER) == 0
    assert status
    assert status.slots_until is None


async def test_claims_that_never_come_hold_up_nobody_for_longer_than_a_probe_run(recovery: Recovery) -> None:
    recovery.limits = replace(FAST, per_minute=60)
    gone = {name(rank) for rank in range(recovery.limits.page + 1)}  # their processes ended elsewhere
    await recovery.begin(150)
    recovery.absent = gone
    await recovery.accepted("CLM-0-0")
    for run in (1, 2, 3):
        await recovery.pass_until(NOW + run * PROBED_EVERY)
        await recovery.probe()
    sent = {claim_id for _, claim_id in recovery.sent}
    assert sent == {name(rank) for rank in range(150)} - gone | {"CLM-0-0"}


@pytest.mark.parametrize("ahead", [timedelta(days=30), timedelta(hours=3)])
async def test_a_window_that_was_taken_back_keeps_nobody_waiting(
    recovery: Recovery, ahead: timedelta
) -> None:
    usual = recovery.limits
    recovery.limits = replace(usual, windows=(PlannedDowntime(NOW, NOW + ahead),))
    for rank in range(3):
        await recovery.arrive(name(rank))
    recovery.limits = usual
    recovery.moment = later(minutes=1)
    assert await recovery.probe() == 3
    await recovery.pass_until(later(minutes=2))
    assert len(recovery.sent) == 3


async def test_slots_behind_a_window_that_comes_are_kept(recovery: Recovery) -> None:
    window = PlannedDowntime(later(seconds=10), later(hours=2))
    recovery.limits = replace(recovery.limits, windows=(window,))
    await recovery.begin(400)
    await recovery.accepted("CLM-0-0")
    until = None
    for seconds in (2, 4, 6):
        await recovery.pass_until(later(seconds=seconds))
        async with recovery.store.reading() as tx:
            status = await tx.payers.find(PAYER)
        assert status
        assert status.slots_until
        assert until is None or status.slots_until >= until
        until = status.slots_until
