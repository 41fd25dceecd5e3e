"""Memory stays flat over many jobs and reconnects; `python -m tests.chaos.memory` has the full size."""

from tests.chaos.memory import measure

JOBS, RECONNECTS = 6_000, 60


async def test_memory_is_flat_over_many_jobs_and_reconnects() -> None:
    memory = await measure(JOBS, RECONNECTS)
    assert memory.more_objects < 200, memory.objects
    assert memory.more_megabytes < 8, memory.resident
