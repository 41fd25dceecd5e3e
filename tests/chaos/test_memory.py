"""Memory stays flat over many jobs, reconnects and faults; `python -m tests.chaos.memory` has the full size.

How it levels off over an hour, with decisions kept, is measured by `python -m tests.bench.soak`.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE, STDOUT

from tests.chaos.arena import Arena, arena
from tests.chaos.memory import Memory
from tests.chaos.mixture import MIXED

JOBS, RECONNECTS = 6_000, 60
WAVES, WAVE = 8, 800
FEW = 400
"""Fewer than one for eight jobs, in a process where other tests have left a million."""


async def test_memory_is_flat_over_many_jobs_and_reconnects() -> None:
    """In a process of its own: what other tests have left behind is not the worker's."""
    size = ("--jobs", str(JOBS), "--reconnects", str(RECONNECTS))
    command = (sys.executable, "-m", "tests.chaos.memory", *size)
    child = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=STDOUT)
    said, _ = await child.communicate()
    assert child.returncode == 0, said.decode()


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
