"""probe-payers: every five minutes, asks whether payers are there and wakes the claims that wait for them."""

from datetime import timedelta

from bpmn.names import JobType, Variable
from workers.jobs.services import Services
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome
from workers.upkeep.probing import Probing


def probe_payers(services: Services) -> JobHandler:
    """The handler; a run that takes longer than the cycle overlaps with the next without harm."""
    probing = Probing(services.store, services.payer_limits, services.waker, services.probe)

    async def handle(_job: Job) -> Outcome:
        return Complete({Variable.PROCESSED_COUNT: await probing.all(await services.clock.now())})

    return JobHandler(
        type=JobType.PROBE_PAYERS,
        variables=(Variable.PROCESSED_COUNT,),
        handle=handle,
        lock=timedelta(minutes=5),
        time_limit=timedelta(minutes=4),
        at_once=1,
    )
