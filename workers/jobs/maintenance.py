"""clean-idempotency, anchor-audit, apply-retention, start-claims: what the maintenance processes ask for."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from bpmn.names import JobType, Variable
from domain.ports import Clock
from workers.jobs.services import Services
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome
from workers.upkeep.retention import apply, remove_expired_records, set_due_anchors

log = structlog.get_logger(__name__)


def clean_idempotency(services: Services) -> JobHandler:
    """Hourly: idempotency records past their time to live."""
    return _maintenance(
        JobType.CLEAN_IDEMPOTENCY, services.clock, lambda now: remove_expired_records(services.store, now)
    )


def anchor_audit(services: Services) -> JobHandler:
    """Daily: seal the audit events of the days that are over."""
    return _maintenance(
        JobType.ANCHOR_AUDIT, services.clock, lambda now: set_due_anchors(services.store, now)
    )


def apply_retention(services: Services) -> JobHandler:
    """Daily: what is past its period goes, unless it is on legal hold."""

    async def remove(now: datetime) -> int:
        removed = await apply(services.store, services.periods, now)
        if counted := {name.replace(" ", "_"): number for name, number in removed.items() if number}:
            log.info("retention_applied", **counted)
        return sum(removed.values())

    return _maintenance(JobType.APPLY_RETENTION, services.clock, remove)


def start_claims(services: Services) -> JobHandler:
    """Every five minutes: start the claims whose message got lost between our commit and the engine."""
    return _maintenance(JobType.START_CLAIMS, services.clock, lambda _now: services.start_received())


def _maintenance(job_type: JobType, clock: Clock, work: Callable[[datetime], Awaitable[int]]) -> JobHandler:
    async def handle(_job: Job) -> Outcome:
        return Complete({Variable.PROCESSED_COUNT: await work(await clock.now())})

    return JobHandler(
        type=job_type,
        variables=(Variable.PROCESSED_COUNT,),
        handle=handle,
        lock=timedelta(minutes=10),
        time_limit=timedelta(minutes=9),
        at_once=1,
    )
