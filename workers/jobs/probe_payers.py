"""probe-payers: every five minutes, asks whether payers are there and wakes the claims that wait for them."""

from datetime import timedelta

from bpmn.names import JobType, Variable
from domain.ports import Clock
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome
from workers.upkeep.probing import Probing


def probe_payers(clock: Clock, probing: Probing) -> JobHandler:
    """The handler; a run that takes longer than the cycle overlaps with the next without harm."""

    async def handle(_job: Job) -> Outcome:
        return Complete({Variable.PROCESSED_COUNT: await probing.all(await clock.now())})

    return JobHandler(
        type=JobType.PROBE_PAYERS,
        variables=(Variable.PROCESSED_COUNT,),
        handle=handle,
        lock=timedelta(minutes=5),
        time_limit=timedelta(minutes=4),
        at_once=1,
    )
