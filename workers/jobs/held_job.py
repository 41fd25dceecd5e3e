"""A job as the watch needs to know it, so that the engine can be told to hand it out again."""

from datetime import UTC, datetime

from domain.standing import HeldJob, JobPlace
from workers.runtime.job import Job


def held_job(job: Job) -> HeldJob | None:
    """The job by the engine's own key, if the end of its lock is known."""
    if job.deadline is None:
        return None
    until = datetime.fromtimestamp(job.deadline, UTC)
    return HeldJob(job.engine_key or job.key, job.retries, until, _place(job))


def _place(job: Job) -> JobPlace | None:
    if not job.element_instance_key:
        return None
    return JobPlace(job.process_instance_key, job.element_instance_key, job.key, job.element_id)
