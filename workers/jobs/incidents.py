"""What is kept of a job's incident with its claim, and how such a job goes on when it is begun again."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from bpmn.names import JobType, Variable
from domain.inputs import is_payer_id
from domain.observations import IncidentElsewhere
from domain.redaction import redact
from persistence.repositories.incidents import StuckJob
from persistence.store import Transaction
from workers.jobs.held_job import held_job
from workers.jobs.rejections import claim_of
from workers.jobs.services import Services
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Outcome

RECORDING_SECONDS = 5.0
JOB_KEYS = range(1, 2**63)
"""What a number must be in to be an engine's key; any other is not taken for one."""
log = structlog.get_logger(__name__)


def resumable(handler: JobHandler) -> JobHandler:
    """The handler; a job that was begun again is a redelivery of the one that had got stuck."""

    async def handle(job: Job) -> Outcome:
        return await handler.handle(as_first(job))

    return replace(handler, variables=(*handler.variables, Variable.RESOLVED_JOB), handle=handle)


def as_first(job: Job) -> Job:
    """The job under the key that its work is on record by, and the engine's beside it."""
    return replace(job, key=_first_key(job), engine_key=job.key)


def noting_incidents(handler: JobHandler, services: Services) -> JobHandler:
    """The handler; what raises an incident is logged, and kept with the claim while the database answers."""

    async def on_incident(job: Job, message: str) -> None:
        why = redact(message)
        claim_id = claim_of(job, services.policy())
        where = {"instance": job.process_instance_key, "element": job.element_id, "job": job.key}
        log.warning("incident", claim=claim_id, why=why, **where)
        if not (claim_id and await _keep(services, job, _Incident(claim_id, why))):
            services.observe(IncidentElsewhere(job.type))
        if isinstance(mail := job.variables.get(Variable.OUTBOX_ID), str):
            await _set_down(services, mail, job)

    return replace(handler, on_incident=on_incident)


@dataclass(frozen=True, slots=True)
class _Incident:
    claim_id: str
    message: str


async def _keep(services: Services, job: Job, incident: _Incident) -> bool:
    is_kept = False
    with _tried(claim=incident.claim_id):
        async with asyncio.timeout(RECORDING_SECONDS):
            stuck = _stuck(job, incident.message, await services.clock.now())
            is_kept = await services.store.run(lambda tx: _note(tx, job, incident.claim_id, stuck))
    return is_kept


async def _set_down(services: Services, outbox_id: str, job: Job) -> None:
    """A mail whose process stands on an incident waits for a person, not for the watch: a day at most."""
    with _tried(mail=outbox_id):
        async with asyncio.timeout(RECORDING_SECONDS):
            await services.store.run(lambda tx: tx.mails.set_down(outbox_id, held_job(job)))


@contextmanager
def _tried(**whose: str) -> Iterator[None]:
    """Best effort: the engine is told in any case, and the database may be what is away."""
    try:
        yield
    except Exception as error:  # whatever it is, the engine must get its report
        log.warning("incident_not_recorded", **whose, why=type(error).__name__)


async def _note(tx: Transaction, job: Job, claim_id: str, stuck: StuckJob) -> bool:
    """Only a claim that is ours to send becomes known by its incident; other processes' are not its own."""
    sends = job.type == JobType.SUBMIT_CLAIM
    if sends:
        await tx.incidents.make_known(claim_id, _payer_of(job), now=stuck.since)
    if is_kept := await tx.incidents.note(claim_id, stuck, sends=sends):
        await tx.payers.release(claim_id)  # a claim that stands still waits for no payer
        await tx.journal.write(claim_id, "incident", stuck.message, now=stuck.since)
    return is_kept


def _stuck(job: Job, message: str, now: datetime) -> StuckJob:
    return StuckJob(
        message=message,
        since=now,
        type=job.type,
        key=job.key,
        first_key=_first_key(job),
        element_id=job.element_id,
        element_instance_key=job.element_instance_key,
        process_instance_key=job.process_instance_key,
    )


def _first_key(job: Job) -> int:
    given = job.variables.get(Variable.RESOLVED_JOB)
    return given if type(given) is int and given in JOB_KEYS else job.key


def _payer_of(job: Job) -> str:
    given = job.variables.get(Variable.PAYER_ID)
    return given if isinstance(given, str) and is_payer_id(given) else "unknown"
