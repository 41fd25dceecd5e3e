"""The maintenance jobs: what their timers ask for, done once and again."""

from datetime import datetime, timedelta

import pytest

from bpmn.names import JobType
from domain.retention import YEAR
from persistence.repositories.idempotency import OperationKey, OperationTerms
from persistence.repositories.upkeep_runs import UpkeepTask
from persistence.store import Store
from tests.support.builders import NOW, draft, later
from tests.support.services import services
from workers.jobs import all_handlers
from workers.runtime import Complete, Job, Outcome

MAINTENANCE = (JobType.CLEAN_IDEMPOTENCY, JobType.ANCHOR_AUDIT, JobType.APPLY_RETENTION)


class Time:
    """A fixed moment."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    async def now(self) -> datetime:
        return self._moment


async def run(store: Store, job_type: JobType, moment: datetime) -> Outcome:
    handlers = all_handlers(services(store, clock=Time(moment)))
    [handler] = [handler for handler in handlers if handler.type == job_type]
    return await handler.handle(Job(1, job_type, "Task", 1, 3, {}, {}))


async def test_the_hourly_clean_up_removes_what_has_expired(store: Store) -> None:
    for n in range(3):
        key = OperationKey(str(n), "Task", "submit_claim", {})
        async with store.transaction() as tx:
            await tx.idempotency.begin(
                key, OperationTerms(lease=timedelta(minutes=4)), now=later(hours=20 * n)
            )
    assert await run(store, JobType.CLEAN_IDEMPOTENCY, later(hours=25)) == Complete({"processedCount": 1})
    assert await run(store, JobType.CLEAN_IDEMPOTENCY, later(hours=25)) == Complete({"processedCount": 0})
    assert await run(store, JobType.CLEAN_IDEMPOTENCY, later(hours=99)) == Complete({"processedCount": 2})


async def test_the_daily_run_seals_and_later_removes(store: Store) -> None:
    await store.record(draft())
    assert await run(store, JobType.ANCHOR_AUDIT, later(days=1)) == Complete({"processedCount": 1})
    assert await run(store, JobType.APPLY_RETENTION, later(days=1)) == Complete({"processedCount": 0})
    old = NOW + 6 * YEAR
    assert await run(store, JobType.APPLY_RETENTION, old) == Complete({"processedCount": 1 + 1 + 6 + 1})


async def test_that_the_watch_has_looked_is_written_down(store: Store) -> None:
    before = await store.look(lambda tx: tx.upkeep_runs.last())
    moment = before[UpkeepTask.STANDING] + timedelta(hours=3)
    await run(store, JobType.HEAL_STANDING, moment)
    after = await store.look(lambda tx: tx.upkeep_runs.last())
    assert after == {**before, UpkeepTask.STANDING: moment}


@pytest.mark.parametrize("job_type", MAINTENANCE)
async def test_an_empty_database_needs_no_maintenance(store: Store, job_type: JobType) -> None:
    assert await run(store, job_type, NOW) == Complete({"processedCount": 0})
