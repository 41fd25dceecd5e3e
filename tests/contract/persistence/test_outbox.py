"""The outbox keeps order, says how far behind it is, and leases name one relay."""

import asyncio
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.repositories.outbox import Lag
from persistence.store import Store
from tests.support.builders import NOW, draft, later

MINUTE = timedelta(minutes=1)


async def test_facts_wait_in_order_until_they_were_told(store: Store) -> None:
    for n in range(5):
        await store.record(draft(f"CLM-1-{n}", now=later(seconds=n)))
    async with store.transaction() as tx:
        first, second, *rest = await tx.outbox.unpublished(10)
        assert [first.claim_id, second.claim_id] == ["CLM-1-0", "CLM-1-1"]
        await tx.outbox.published([first.position, second.position], now=NOW)
        assert await tx.outbox.unpublished(10) == rest
        assert await tx.outbox.lag() == Lag(3, later(seconds=2))


async def test_an_empty_outbox_has_no_lag(store: Store) -> None:
    async with store.reading() as tx:
        assert await tx.outbox.lag() == Lag(0, None)


async def test_a_decision_has_one_fact_however_many_workers_were_given_its_job(database: AsyncEngine) -> None:
    """The outbox itself would take a fact twice: the decision's round, in the same commit, is unique."""
    jobs = [(claim, count, instance) for claim in "AB" for count in (0, 1) for instance in (1, 2)]
    drafts = [
        draft(f"CLM-{claim}-1", count=count, process_instance_key=instance, job_key=key, now=later(seconds=s))
        for key, (claim, count, instance) in enumerate(jobs)
        for s in range(3)
    ]
    await asyncio.gather(*(Store(database).record(one) for one in drafts))
    async with Store(database).reading() as tx:
        facts = await tx.outbox.unpublished(100)
    assert len(facts) == len({fact.event_id for fact in facts}) == len(jobs)


async def test_a_lease_is_held_by_one_until_it_ends_or_is_given_back(store: Store) -> None:
    async with store.transaction() as tx:
        assert await tx.leases.take("relay", "a", now=NOW, length=MINUTE)
        assert not await tx.leases.take("relay", "b", now=NOW, length=MINUTE)
        assert await tx.leases.take("relay", "a", now=later(seconds=30), length=MINUTE)
        assert not await tx.leases.take("relay", "b", now=later(seconds=80), length=MINUTE)
        assert await tx.leases.take("relay", "b", now=later(seconds=90), length=MINUTE)
        await tx.leases.give_back("relay", "a")
        assert not await tx.leases.take("relay", "a", now=later(seconds=100), length=MINUTE)
        await tx.leases.give_back("relay", "b")
        assert await tx.leases.take("relay", "a", now=later(seconds=100), length=MINUTE)
