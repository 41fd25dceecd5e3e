"""Payers in the database: what is kept, and that limits hold however many ask at once."""

import asyncio
from dataclasses import replace

from domain.payer_status import PayerLimits, PayerState, PayerStatus
from domain.slots import Slot, Wait
from domain.verdicts import Candidate, Go, Hold
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
    slots_until=later(seconds=4),
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


async def waiting(tx: Transaction, status: PayerStatus, *, limit: int = 9) -> list[str]:
    """Who is to be given the next slots."""
    found = await tx.payers.next_waiting(status, lost_before=later(minutes=-4), limit=limit)
    return [each.claim_id for each in found]


async def test_the_nearest_deadline_comes_first_and_nobody_twice_in_a_row(store: Store) -> None:
    status = PayerStatus(PAYER, NOW)
    async with store.transaction() as tx:
        for each in (wait(1), wait(2, deadline=90), wait(3, deadline=30), wait(4), wait(0, deadline=90)):
            await tx.payers.hold(each)
        order = ["CLM-W-3", "CLM-W-0", "CLM-W-2", "CLM-W-1", "CLM-W-4"]
        assert await waiting(tx, status) == order
        assert await waiting(tx, status, limit=2) == order[:2]
        await tx.payers.give_slots([Slot("CLM-W-3", later(minutes=1))], now=NOW)
        await tx.payers.give_slots([], now=NOW)
        assert await waiting(tx, status) == order[1:]


async def test_a_slot_that_passed_unused_or_was_given_before_an_outage_is_none(store: Store) -> None:
    async with store.transaction() as tx:
        for each, minutes in ((wait(1), -5), (wait(2), -3), (wait(3), 5)):
            await tx.payers.hold(each)
            await tx.payers.give_slots([Slot(each.claim_id, later(minutes=minutes))], now=NOW)
        assert await waiting(tx, PayerStatus(PAYER, NOW)) == ["CLM-W-1"]
        assert len(await waiting(tx, PayerStatus(PAYER, later(seconds=1)))) == 3
        assert await waiting(tx, PayerStatus("other", NOW)) == []


async def test_nobody_stands_behind_claims_that_did_not_come_to_their_slots(store: Store) -> None:
    async with store.transaction() as tx:
        for number in range(3):
            await tx.payers.hold(wait(number, deadline=10))
            await tx.payers.give_slots([Slot(f"CLM-W-{number}", later(minutes=-5))], now=NOW)
        await tx.payers.hold(wait(3, deadline=90))
        assert await waiting(tx, PayerStatus(PAYER, NOW), limit=2) == ["CLM-W-3", "CLM-W-0"]


async def test_who_has_not_come_to_a_slot_is_late(store: Store) -> None:
    status = PayerStatus(PAYER, NOW)
    async with store.transaction() as tx:
        for number, minutes in enumerate((-5, -3, 0, 1)):
            await tx.payers.hold(wait(number))
            await tx.payers.give_slots([Slot(f"CLM-W-{number}", later(minutes=minutes))], now=NOW)
        assert await tx.payers.count_late(status, later(minutes=-4), NOW) == 2
        assert await tx.payers.count_late(replace(status, changed_at=later(hours=1)), NOW, NOW) == 0


async def test_waits_and_sends_nobody_came_back_for_are_forgotten(store: Store) -> None:
    async with store.transaction() as tx:
        await tx.payers.hold(wait(1, until=1))
        await tx.payers.hold(wait(2, until=200))
        await tx.payers.send_began("CLM-1-1", 1, PAYER, until=later(minutes=1))
        await tx.payers.hold(wait(3, until=2))
        assert await tx.payers.forget_lost(before=later(minutes=100), limit=1) == 2
        assert await tx.payers.forget_lost(before=later(minutes=100), limit=1) == 1
        assert await waiting(tx, PayerStatus(PAYER, NOW)) == ["CLM-W-2"]


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
    slots = sorted(v.slot_at for v in verdicts if isinstance(v, Hold) and v.slot_at)
    assert slots == [NOW + n * limits.interval for n in range(1, 12)]


async def test_credentials_that_are_not_proven_let_one_through_whoever_asks(store: Store) -> None:
    verdicts = [a.verdict for a in await asyncio.gather(*(arrive(store, n, PayerLimits()) for n in range(8)))]
    assert sum(isinstance(verdict, Go) for verdict in verdicts) == 1
