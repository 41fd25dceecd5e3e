"""What is told of a job that is done later, through no fault of its own."""

from dataclasses import replace

import structlog

from bpmn.names import Variable
from domain.inputs import is_payer_id
from domain.redaction import redact
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Outcome, Postpone

log = structlog.get_logger(__name__)


def noting_postponements(handler: JobHandler) -> JobHandler:
    """The handler; a job that is put off leaves a line, which bears its job's ids as every line does."""

    async def handle(job: Job) -> Outcome:
        outcome = await handler.handle(job)
        _tell(job, outcome)
        return outcome

    def late(job: Job) -> Outcome | None:
        outcome = handler.late(job)
        _tell(job, outcome)
        return outcome

    return replace(handler, handle=handle, late=late)


def _tell(job: Job, outcome: Outcome | None) -> None:
    if isinstance(outcome, Postpone):
        seconds, why = outcome.backoff.total_seconds(), redact(outcome.message)
        log.info("job_postponed", type=job.type, payer=_payer(job), again_in_seconds=seconds, why=why)


def _payer(job: Job) -> str | None:
    """The payer that the job names, where it is a payer's id and nobody's number."""
    given = job.variables.get(Variable.PAYER_ID)
    return given if isinstance(given, str) and is_payer_id(given) else None
