"""What the maintenance processes ask for, on their timers: clean, anchor, remove, probe, start."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from bpmn.names import JobType, Variable
from domain.ports import Clock
from workers.jobs.services import Services
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome
from workers.upkeep.probing import Probing
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


def probe_payers(services: Services) -> JobHandler:
    """Every five minutes: ask whether payers are there, wake the claims that wait for them.

    A run that takes longer than the cycle overlaps with the next without harm.
    """
    probing = Probing(services.store, services.payer_limits, services.waker, services.probe)
    return _maintenance(JobType.PROBE_PAYERS, services.clock, probing.all, minutes=5)


def start_claims(services: Services) -> JobHandler:
    """Every five minutes: start the claims whose message got lost between our commit and the engine."""
    return _maintenance(JobType.START_CLAIMS, services.clock, lambda _now: services.start_received())


def _maintenance(
    job_type: JobType, clock: Clock, work: Callable[[datetime], Awaitable[int]], *, minutes: int = 10
) -> JobHandler:
    async def handle(_job: Job) -> Outcome:
        return Complete({Variable.PROCESSED_COUNT: await work(await clock.now())})

    return JobHandler(
        type=job_type,
        variables=(Variable.PROCESSED_COUNT,),
        handle=handle,
        lock=timedelta(minutes=minutes),
        time_limit=timedelta(minutes=minutes - 1),
        at_once=1,
    )
