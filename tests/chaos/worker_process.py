"""A worker as a process of its own, to be killed: `python -m tests.chaos.worker_process ADDRESS EFFECTS`."""

import asyncio
import itertools
import os
import random
import sys
from datetime import timedelta
from pathlib import Path

from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from tests.chaos.effects import Effects
from workers.runtime import Complete, Job, JobHandler, Outcome
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker

TYPE = "chaos-real"
LOCK = timedelta(seconds=4)
AT_ONCE = 32
PAUSE_SECONDS = 0.02


class EffectHandler:
    """Brings about a claim's effect; there is time to be killed before it and after it."""

    def __init__(self, effects: Effects, name: str) -> None:
        self._effects = effects
        self._name = name
        self._runs = itertools.count(1)

    async def handle(self, job: Job) -> Outcome:
        """One run on one delivery."""
        await asyncio.sleep(PAUSE_SECONDS)
        self._effects.apply(job.variables["claimId"], f"{self._name}-{next(self._runs)}")
        await asyncio.sleep(PAUSE_SECONDS)
        return Complete()


async def work(address: str, effects: Path) -> None:
    """Work until killed."""
    name = f"chaos-{os.getpid()}"
    effect = EffectHandler(Effects(effects), name)
    handler = JobHandler(TYPE, ("claimId",), effect.handle, lock=LOCK, at_once=AT_ONCE)
    async with open_channel(Plaintext(address)) as channel:
        await Worker(channel, [handler], WorkerOptions(name, random.Random())).run(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], Path(sys.argv[2])))
