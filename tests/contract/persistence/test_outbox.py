"""The outbox keeps order, says how far behind it is, and leases name one relay."""

from datetime import timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from persistence.outbox import Lag
from persistence.store import Store
from tests.contract.persistence.builders import NOW, draft, later

MINUTE = timedelta(minutes=1)


async def test_facts_wait_in_order_until_they_were_told(store: Store) -> None:
    for n in range(5):
        await store.record(draft(f"CLM-1-{n}", now=later(seconds=n)))
    async with store.transaction() as tx:
        first, second, *rest = await tx.outbox.unpublished(10)
        assert [first.claim_id, second.claim_id] == ["CLM-1-0", "CLM-1-1"]
        await tx.outbox.published([first.event_id, second.event_id], now=NOW)
        assert await tx.outbox.unpublished(10) == rest
        assert await tx.outbox.lag() == Lag(3, later(seconds=2))


async def test_an_empty_outbox_has_no_lag(store: Store) -> None:
    async with store.reading() as tx:
        assert await tx.outbox.lag() == Lag(0, None)


async def test_one_event_cannot_be_put_in_twice(store: Store) -> None:
    await store.record(draft())
    async with store.reading() as tx:
        [fact] = await tx.outbox.unpublished(1)
    with pytest.raises(IntegrityError):
        async with store.transaction() as tx:
            await tx.outbox.add([fact])


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
