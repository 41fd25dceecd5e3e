"""clean-idempotency, anchor-audit, apply-retention, start-claims: what the maintenance processes ask for."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from bpmn.names import JobType, Variable
from domain.ports import Clock
from domain.retention import Periods
from persistence.store import Store
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Outcome
from workers.upkeep.retention import apply, remove_expired_records, set_due_anchors

log = structlog.get_logger(__name__)


def clean_idempotency(store: Store, clock: Clock) -> JobHandler:
    """Hourly: idempotency records past their time to live."""
    return _maintenance(
        JobType.CLEAN_IDEMPOTENCY,
        clock,
        lambda now: remove_expired_records(store, now),
    )


def anchor_audit(store: Store, clock: Clock) -> JobHandler:
    """Daily: seal the audit events of the days that are over."""
    return _maintenance(JobType.ANCHOR_AUDIT, clock, lambda now: set_due_anchors(store, now))


def apply_retention(store: Store, periods: Periods, clock: Clock) -> JobHandler:
    """Daily: what is past its period goes, unless it is on legal hold."""

    async def remove(now: datetime) -> int:
        removed = await apply(store, periods, now)
        if counted := {name.replace(" ", "_"): number for name, number in removed.items() if number}:
            log.info("retention_applied", **counted)
        return sum(removed.values())

    return _maintenance(JobType.APPLY_RETENTION, clock, remove)


def start_claims(clock: Clock, start_received: Callable[[], Awaitable[int]]) -> JobHandler:
    """Every five minutes: start the claims whose message got lost between our commit and the engine."""
    return _maintenance(JobType.START_CLAIMS, clock, lambda _now: start_received())


async def nothing_received() -> int:
    """For workers without an intake."""
    return 0


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
