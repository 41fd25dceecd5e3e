"""Whoever changes a claim takes its row before its chain: a decision and a person's order never deadlock."""

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from domain.claim_state import ClaimState
from persistence import store as stores
from persistence.database.trouble import is_worth_repeating
from persistence.store import Store
from tests.support.builders import NOW, draft

CLAIMS = [f"CLM-7-{number}" for number in range(3, 0, -1)]
WAITERS = text(
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
)
pytestmark = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What transactions were repeated for."""
    seen: list[str] = []
    judged = is_worth_repeating

    def judging(error: Exception) -> bool:
        seen.append(str(error))
        return judged(error)

    monkeypatch.setattr(stores, "is_worth_repeating", judging)
    return seen


async def until_somebody_waits(database: AsyncEngine) -> None:
    async with asyncio.timeout(30), database.connect() as connection:
        while not await connection.scalar(WAITERS):
            await connection.rollback()  # or the view would stay as it was
            await asyncio.sleep(0.01)


async def test_a_decision_waits_for_the_row_before_it_takes_the_chain(
    store: Store, database: AsyncEngine, repeated: list[str]
) -> None:
    async with store.transaction() as tx:
        for claim in CLAIMS:
            await tx.claims.put(claim, "999999", ClaimState.SUBMITTING, now=NOW)
    async with store.transaction() as tx:
        await tx.claims.lock(CLAIMS[1])
        deciding = [asyncio.create_task(store.record(draft(claim))) for claim in CLAIMS]
        await until_somebody_waits(database)
        await tx.journal.write(CLAIMS[1], "cancelled", "by a person", now=NOW)
    recorded = await asyncio.gather(*deciding)
    assert all(one.is_new for one in recorded)
    assert repeated == []
