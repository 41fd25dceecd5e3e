"""What is kept of a job that rests at the engine: the watch begins its task anew if the engine forgets it."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import structlog

from bpmn.names import JobType
from persistence.repositories.standstills import RestingJob
from workers.jobs.held_job import held_job
from workers.jobs.incidents import as_first
from workers.jobs.rejections import claim_of
from workers.jobs.services import Services
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job

RECORDING_SECONDS = 2.0
log = structlog.get_logger(__name__)


def noting_backoffs(handler: JobHandler, services: Services) -> JobHandler:
    """The handler; that a claim's job is put off is noted with the claim, while the database answers.

    A mail's wait is on record with its attempt.
    """

    if handler.type == JobType.SEND_EMAIL:
        return handler

    async def on_backoff(job: Job, backoff: timedelta) -> None:
        claim_id, held = claim_of(job, services.policy()), held_job(as_first(job))
        if claim_id is None or held is None or services.store.refuses():
            return
        try:
            async with asyncio.timeout(RECORDING_SECONDS):
                rests = replace(held, until=await services.clock.now() + backoff)
                await _note(services, RestingJob(claim_id, job.process_instance_key, rests))
        except Exception as error:  # the engine must get its report; what is not noted is not healed
            log.warning("backoff_not_recorded", claim=claim_id, why=type(error).__name__)

    return replace(handler, on_backoff=on_backoff)


async def _note(services: Services, resting: RestingJob) -> None:
    await services.store.run(lambda tx: tx.standstills.rests(resting))
