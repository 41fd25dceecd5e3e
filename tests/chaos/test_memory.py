"""Memory stays flat over many jobs, reconnects and faults; `python -m tests.chaos.memory` has the full size.

How it levels off over an hour, with decisions kept, is measured by `python -m tests.bench.soak`.
"""

from tests.chaos.arena import Arena, arena
from tests.chaos.memory import Memory, measure
from tests.chaos.mixture import MIXED

JOBS, RECONNECTS = 6_000, 60
WAVES, WAVE = 8, 800
FEW = 400
"""Fewer than one for eight jobs, in a process where other tests have left a million."""


async def test_memory_is_flat_over_many_jobs_and_reconnects() -> None:
    memory = await measure(JOBS, RECONNECTS)
    assert memory.more_objects < 200, memory.objects
    assert memory.more_megabytes < 8, memory.resident


async def test_faults_leave_no_objects_behind() -> None:
    memory = Memory()
    async with arena(cabled=True) as here:
        here.gateway.faults.switch(*MIXED)
        for number in range(WAVES):
            await wave(here, number)
            memory.sample()
        here.gateway.faults.switch()
    assert memory.more_objects < FEW, memory.objects


async def wave(here: Arena, number: int) -> None:
    """So many jobs more, all ended, and forgotten by who gave them out."""
    here.create(range(number * WAVE, (number + 1) * WAVE))
    await here.ended((number + 1) * WAVE)
    here.gateway.store.forget_ended()
