"""Files that are handed in while somebody else holds what they need are waited for longer than jobs are."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from persistence.database.engine import PoolLimits, close_database, open_database
from persistence.database.trouble import DatabaseError
from persistence.store import Store
from tests.support.databases import SEALS
from tests.support.intake_stage import FILE, IntakeStage, intake_stage
from tests.support.tiss_samples import PAYER
from tests.support.waiting import eventually
from workers.claims import batches
from workers.claims.examination import ClaimFile
from workers.claims.intake import NewClaim

SHORT = PoolLimits(lock_seconds=0.02, busy_seconds=0.02)


@pytest.fixture
async def stage(url: str, tmp_path: Path) -> AsyncIterator[IntakeStage]:
    """The intake on a database that gives up waiting at once."""
    engine = open_database(url, SHORT)
    async with intake_stage(Store(engine, SEALS), tmp_path) as opened:
        yield opened
    await close_database(engine)


async def test_a_file_is_taken_in_when_its_payer_was_held_for_longer_than_a_job_waits(
    stage: IntakeStage, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "LOCKED_TRIES", 10_000)  # each is short here

    async def is_refused() -> bool:
        return stage.store.refuses()

    async with store.transaction() as tx:
        await tx.payers.lock(PAYER, now=datetime.now(UTC))
        handing_in = asyncio.create_task(stage.intake.submit(ClaimFile(FILE)))
        await eventually(is_refused)
        assert not handing_in.done()
    assert isinstance(await handing_in, NewClaim)


async def test_a_payer_that_stays_held_is_told_of_at_last(
    stage: IntakeStage, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "LOCKED_PAUSE_SECONDS", 0)
    async with store.transaction() as tx:
        await tx.payers.lock(PAYER, now=datetime.now(UTC))
        with pytest.raises(DatabaseError, match="Somebody else holds"):
            await stage.intake.submit(ClaimFile(FILE))
    assert isinstance(await stage.intake.submit(ClaimFile(FILE)), NewClaim)
