"""Jobs of one claim at the same time: each waits its turn at the claim's audit chain."""

import asyncio

import pytest
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.audit.rejections import Rejection
from persistence.database.trouble import DatabaseError
from persistence.store import PAUSES_SECONDS, Store, Transaction
from tests.support.builders import CLAIM, NOW, draft, later
from tests.support.databases import SEALS

AT_ONCE = 8


def rejection(job_key: int) -> Rejection:
    return Rejection(job_key, 1, CLAIM, "RN-BIL-004", "BIL-004-V5", "Variable retryCount", NOW)


async def test_no_job_loses_the_race_for_its_claims_chain(database: AsyncEngine) -> None:
    """Without repetitions: whoever is second waits for the first."""

    async def decide(tx: Transaction, job_key: int) -> None:
        if job_key % 2:
            await tx.rejections.keep(rejection(job_key))
        else:
            await tx.decision_log.record([draft(job_key=job_key), draft("CLM-002-2", job_key=job_key)])

    async def once(job_key: int) -> None:
        async with Store(database, SEALS).transaction() as tx:
            await asyncio.sleep(0)
            await decide(tx, job_key)

    await asyncio.gather(*(once(key) for key in range(AT_ONCE)))
    async with Store(database, SEALS).reading() as tx:
        events = await tx.audit.of_claim(CLAIM)
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert len({event.job_key for event in events}) == AT_ONCE
        assert [problem async for problem in tx.verification.problems(later(hours=5))] == []


async def test_groups_that_name_the_same_claims_in_another_order_do_not_block_each_other(
    database: AsyncEngine,
) -> None:
    names = [f"CLM-004-{n}" for n in range(6)]

    async def once(order: list[str]) -> None:
        async with Store(database, SEALS).transaction() as tx:
            await tx.decision_log.record([draft(name) for name in order])

    await asyncio.gather(*(once(order) for order in (names, names[::-1]) * 4))
    async with Store(database, SEALS).reading() as tx:
        assert [await tx.decisions.count(name) for name in names] == [8] * 6


async def test_a_row_that_contradicts_another_is_not_called_an_outage(store: Store) -> None:
    tries: list[int] = []

    async def clash(tx: Transaction) -> None:
        tries.append(1)
        await tx.rejections.keep(rejection(1))
        await tx.audit.append(await tx.audit.of_claim(CLAIM))

    with pytest.raises(DatabaseError, match="contradicts") as told:
        await store.run(clash)
    assert isinstance(told.value.__cause__, IntegrityError)
    assert "does not answer" not in str(told.value)
    assert len(tries) == len(PAUSES_SECONDS) + 1
