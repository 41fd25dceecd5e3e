"""Payers in the database: what is kept, and that limits hold however many ask at once."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial

from domain.breaker import Candidate, Go, Hold
from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.slots import Slot, Wait
from persistence.store import Store, Transaction
from tests.support.builders import NOW, later
from workers.payers.admission import Admission, locked

PAYER = "302147"
FULL = PayerStatus(
    payer_id=PAYER,
    changed_at=NOW,
    state=PayerState.OPEN,
    reason="503",
    failures=5,
    openings=2,
    opened_at=later(minutes=-9),
    next_try_at=later(minutes=9),
    not_before=later(minutes=1),
    next_slot_at=later(seconds=1),
    next_wait_slot_at=later(seconds=2),
    paced_until=later(seconds=3),
    proven=True,
    probed_at=NOW,
    probe_up=False,
)


async def test_a_payer_never_seen_is_healthy_and_what_is_saved_is_found(store: Store) -> None:
    async with store.transaction() as tx:
        assert await tx.payers.find(PAYER) is None
        assert await tx.payers.lock(PAYER, now=NOW) == PayerStatus(PAYER, NOW)
        await tx.payers.save(FULL)
    async with store.reading() as tx:
        assert await tx.payers.find(PAYER) == FULL
        assert await tx.payers.all() == [FULL]


async def test_a_send_is_under_way_until_it_ends_or_its_time_is_over(store: Store) -> None:
    async with store.transaction() as tx:
        for attempt in (1, 2):
            await tx.payers.send_began("CLM-1-1", attempt, PAYER, until=later(minutes=attempt))
        await tx.payers.send_began("CLM-1-1", 1, PAYER, until=later(minutes=9))  # a redelivery
        assert await tx.payers.in_flight(PAYER, now=NOW) == 2
        assert await tx.payers.in_flight(PAYER, now=later(minutes=1)) == 1
        assert await tx.payers.in_flight("other", now=NOW) == 0
        await tx.payers.send_ended("CLM-1-1", 2)
        assert await tx.payers.in_flight(PAYER, now=NOW) == 1


def wait(number: int, *, deadline: int | None = None, slot: int | None = None, until: int = 60) -> Wait:
    """A claim's wait, in minutes from now."""
    return Wait(
        claim_id=f"CLM-W-{number}",
        payer_id=PAYER,
        since=later(seconds=number),
        until=later(minutes=until),
        slot_at=None if slot is None else later(minutes=slot),
        deadline=None if deadline is None else later(minutes=deadline),
    )


async def test_a_wait_keeps_its_beginning_and_ends_when_released(store: Store) -> None:
    async with store.transaction() as tx:
        await tx.payers.hold(wait(1))
        again = replace(wait(1), since=later(hours=1), until=later(hours=2), slot_at=later(hours=2))
        await tx.payers.hold(again)
        assert await tx.payers.wait_of("CLM-W-1") == replace(again, since=wait(1).since)
        assert await tx.payers.count_waiting(PAYER) == 1
        await tx.payers.release("CLM-W-1")
        assert await tx.payers.wait_of("CLM-W-1") is None


async def test_the_nearest_deadline_is_woken_first_and_nobody_twice_in_a_row(store: Store) -> None:
    async with store.transaction() as tx:
        for each in (wait(1), wait(2, deadline=90), wait(3, deadline=30), wait(4)):
            await tx.payers.hold(each)
        order = ["CLM-W-3", "CLM-W-2", "CLM-W-1", "CLM-W-4"]
        assert await tx.payers.most_urgent(PAYER, woken_before=NOW, limit=9) == order
        await tx.payers.woken(["CLM-W-3"], now=NOW)
        assert await tx.payers.most_urgent(PAYER, woken_before=NOW, limit=1) == ["CLM-W-2"]
        lost = later(minutes=1)  # nobody came: the wake-up was lost
        assert await tx.payers.most_urgent(PAYER, woken_before=lost, limit=1) == ["CLM-W-3"]


async def test_who_has_a_slot_soon_and_before_its_timer_is_due(store: Store) -> None:
    async with store.transaction() as tx:
        for each in (wait(1, slot=3), wait(2, slot=50), wait(3, slot=2), wait(4, slot=1, until=1), wait(5)):
            await tx.payers.hold(each)
        soon = partial(tx.payers.due, PAYER, before=later(minutes=6), woken_before=NOW)
        assert await soon(limit=9) == ["CLM-W-3", "CLM-W-1"]
        await tx.payers.give_slots([Slot("CLM-W-5", later(minutes=1))])
        await tx.payers.give_slots([])
        assert await soon(limit=1) == ["CLM-W-5"]


async def test_waits_and_sends_nobody_came_back_for_are_forgotten(store: Store) -> None:
    async with store.transaction() as tx:
        await tx.payers.hold(wait(1, until=1))
        await tx.payers.hold(wait(2, until=200))
        await tx.payers.send_began("CLM-1-1", 1, PAYER, until=later(minutes=1))
        assert await tx.payers.forget_lost(before=later(minutes=100)) == 2
        assert [left.claim_id for left in await tx.payers.waiting(PAYER)] == ["CLM-W-2"]


async def arrive(store: Store, number: int, limits: PayerLimits) -> Admission:
    """A claim that asks for admission, and is under way when it may go."""
    claim = Candidate(f"CLM-A-{number}", PAYER)

    async def ask(tx: Transaction) -> Admission:
        payer = await locked(tx, PAYER, limits, NOW)
        admission = await payer.admit(claim)
        if isinstance(admission.verdict, Go):
            await tx.payers.send_began(claim.claim_id, 1, PAYER, until=NOW + limits.lease)
        return admission

    return await store.run(ask)


async def test_of_many_that_come_at_once_as_many_go_as_may(store: Store) -> None:
    proven = replace(PayerStatus(PAYER, NOW), proven=True)
    async with store.transaction() as tx:
        await tx.payers.lock(PAYER, now=NOW)
        await tx.payers.save(proven)
    limits = PayerLimits(per_minute=None, at_once=3)
    verdicts = [a.verdict for a in await asyncio.gather(*(arrive(store, n, limits) for n in range(12)))]
    assert sum(isinstance(verdict, Go) for verdict in verdicts) == 3


async def test_of_many_that_come_at_once_each_gets_a_slot_of_its_own(store: Store) -> None:
    limits = PayerLimits(needs_proof=False, at_once=100)
    verdicts = [a.verdict for a in await asyncio.gather(*(arrive(store, n, limits) for n in range(12)))]
    slots = sorted(verdict.slot_at for verdict in verdicts if isinstance(verdict, Hold))
    assert slots == [NOW + timedelta(seconds=n) for n in range(1, 12)]


async def test_credentials_that_are_not_proven_let_one_through_whoever_asks(store: Store) -> None:
    verdicts = [a.verdict for a in await asyncio.gather(*(arrive(store, n, PayerLimits()) for n in range(8)))]
    assert sum(isinstance(verdict, Go) for verdict in verdicts) == 1
