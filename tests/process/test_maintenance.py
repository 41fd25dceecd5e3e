"""The maintenance processes on a real broker: their timers fire by themselves, again and again."""

from datetime import timedelta

import pytest

from bpmn.names import ProcessId
from tests.process.stage import Stage, eventually

CYCLES = [
    (ProcessId.MAINTENANCE_IDEMPOTENCY, timedelta(hours=1), ["Task_CleanIdempotency", "End_Cleaned"]),
    (
        ProcessId.MAINTENANCE_RETENTION,
        timedelta(days=1),
        ["Task_AnchorAudit", "Task_ApplyRetention", "End_Retained"],
    ),
]


@pytest.mark.parametrize(("process", "cycle", "path"), CYCLES, ids=lambda value: str(value)[:23])
async def test_every_turn_of_the_timer_runs_the_jobs_to_the_end(
    working: Stage, process: ProcessId, cycle: timedelta, path: list[str]
) -> None:
    for _ in range(3):
        before = len(working.records.ended(process))
        await working.clock.advance(cycle + timedelta(seconds=1))
        instance = await next_ended(working, process, before)
        assert [element for element in working.records.completed(instance) if element in path] == path
        assert "processedCount" in working.records.variables(instance)


async def next_ended(stage: Stage, process: ProcessId, known: int) -> int:
    """The last instance that ended, once there are more than were known."""

    async def look() -> int | None:
        ended = stage.records.ended(process)
        return ended[-1] if len(ended) > known else None

    return await eventually(look, f"{process} to run")
