"""The maintenance processes on a real broker: their timers fire by themselves, again and again."""

from datetime import timedelta

import pytest

from bpmn.names import ProcessId
from domain.retention import YEAR
from persistence.repositories.idempotency import OperationKey, OperationTerms
from persistence.repositories.reviews import Notice
from tests.process.stage import Stage, eventually
from tests.support.builders import draft
from tests.support.mails import keep_dead

CYCLES = [
    (ProcessId.MAINTENANCE_IDEMPOTENCY, timedelta(hours=1), ["Task_CleanIdempotency", "End_Cleaned"]),
    (
        ProcessId.MAINTENANCE_RETENTION,
        timedelta(days=1),
        ["Task_AnchorAudit", "Task_ApplyRetention", "End_Retained"],
    ),
    (
        ProcessId.MAINTENANCE_PAYERS,
        timedelta(minutes=5),
        ["Task_ProbePayers", "Task_StartClaims", "End_LookedAfter"],
    ),
    (ProcessId.MAINTENANCE_MAIL, timedelta(minutes=5), ["Task_StartEmails", "End_EmailsLookedAfter"]),
    (
        ProcessId.MAINTENANCE_DEAD_LETTERS,
        timedelta(hours=1),
        ["Task_ExpireDeadLetters", "End_DeadLettersExpired"],
    ),
    (
        ProcessId.MAINTENANCE_KPI,
        timedelta(days=1),
        ["Task_SnapshotKpis", "Task_SendReports", "End_Reported"],
    ),
    (ProcessId.MAINTENANCE_REDRIVE, timedelta(minutes=15), ["Task_RedriveDeadLetters", "End_Redriven"]),
]


@pytest.mark.parametrize(("process", "cycle", "path"), CYCLES, ids=lambda value: str(value)[:23])
async def test_every_turn_of_the_timer_runs_the_jobs_to_the_end(
    working: Stage, process: ProcessId, cycle: timedelta, path: list[str]
) -> None:
    for _ in range(3):
        instance = await turn(working, process, cycle)
        assert [element for element in working.records.completed(instance) if element in path] == path
        assert "processedCount" in working.records.variables(instance)


async def test_every_hour_idempotency_records_that_have_expired_are_removed(working: Stage) -> None:
    key, store = OperationKey(working.run_id, "Task", "submit_claim", {}), working.app.store
    terms = OperationTerms(lease=timedelta(minutes=4))
    long_ago = await working.clock.now() - timedelta(days=30)
    await store.run(lambda tx: tx.idempotency.begin(key, terms, now=long_ago))
    await turn(working, ProcessId.MAINTENANCE_IDEMPOTENCY, timedelta(hours=1))
    assert await store.look(lambda tx: tx.idempotency.find_by_key(key.text)) is None


async def test_every_day_the_trail_is_sealed_and_what_is_past_its_period_is_removed(working: Stage) -> None:
    store, claim = working.app.store, working.new_claim_id().value
    yesterday = await working.clock.now() - timedelta(days=1)
    old = Notice(claim, "BILLING_MANAGEMENT", "old")
    await store.record(draft(claim, now=yesterday))
    await store.run(lambda tx: tx.notices.record(old, job_key=1, now=yesterday - 6 * YEAR))
    await turn(working, ProcessId.MAINTENANCE_RETENTION, timedelta(days=1))
    async with store.reading() as tx:
        assert yesterday.date() in {anchor.day for anchor in await tx.anchors.all()}
        assert len(await tx.decisions.of_claims([claim])) == 1
        assert await tx.notices.of_claim(claim) == []


async def test_every_hour_dead_letters_of_seven_days_are_removed(working: Stage) -> None:
    store, now = working.app.store, await working.clock.now()
    [old] = await keep_dead(store, [1], at=now - timedelta(days=7))
    [young] = await keep_dead(store, [2], at=now)
    await turn(working, ProcessId.MAINTENANCE_DEAD_LETTERS, timedelta(hours=1))
    async with store.reading() as tx:
        assert await tx.dead_letters.find(old) is None
        assert await tx.dead_letters.find(young) is not None


async def turn(stage: Stage, process: ProcessId, cycle: timedelta) -> int:
    """Let the time of one cycle pass; the instance that its timer started, once it has ended."""
    before = len(stage.records.ended(process))
    await stage.clock.advance(cycle + timedelta(seconds=1))
    return await next_ended(stage, process, before)


async def next_ended(stage: Stage, process: ProcessId, known: int) -> int:
    """The last instance that ended, once there are more than were known."""

    async def look() -> int | None:
        ended = stage.records.ended(process)
        return ended[-1] if len(ended) > known else None

    return await eventually(look, f"{process} to run")
