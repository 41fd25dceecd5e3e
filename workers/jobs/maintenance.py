"""What the maintenance processes ask for, on their timers: clean, anchor, remove, probe, heal, count."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from bpmn.names import JobType, Variable
from domain.standing import LATE_AFTER
from persistence.audit.anchors import AnchorRefused
from persistence.repositories.upkeep_runs import UpkeepTask
from workers.jobs.engine_time import engine_time
from workers.jobs.services import Services
from workers.mail.dead_letters import move_in
from workers.mail.limits import forget_idle
from workers.runtime.handler import JobHandler
from workers.runtime.job import Job
from workers.runtime.outcome import Complete, Fail, Outcome
from workers.upkeep.clocks import ClocksDisagree
from workers.upkeep.dead_letters import expire_letters
from workers.upkeep.kpis import take_snapshot
from workers.upkeep.lost_mail import end_cancelled, end_overdue, start_lost
from workers.upkeep.probing import Probing
from workers.upkeep.report_mail import ReportMail
from workers.upkeep.retention import apply, remove_expired_records, set_due_anchors
from workers.upkeep.standing import StandingWatch

log = structlog.get_logger(__name__)
Work = Callable[[datetime], Awaitable[int]]
CLOCKS_BACKOFF = timedelta(minutes=10)
ANCHOR_BACKOFF = timedelta(minutes=10)


def clean_idempotency(services: Services) -> JobHandler:
    """Hourly: idempotency records past their time to live."""
    return _timely(
        JobType.CLEAN_IDEMPOTENCY, services, lambda now: remove_expired_records(services.store, now)
    )


def anchor_audit(services: Services) -> JobHandler:
    """Daily: seal the audit events of the days that are over; what cannot be checked is not signed."""
    handler = _timely(JobType.ANCHOR_AUDIT, services, lambda now: set_due_anchors(services.store, now))

    async def handle(job: Job) -> Outcome:
        try:
            return await handler.handle(job)
        except AnchorRefused as refused:
            return _not_signed(job, refused)

    return replace(handler, handle=handle)


def _not_signed(job: Job, refused: AnchorRefused) -> Outcome:
    log.error("audit_anchor_refused", why=str(refused))
    return Fail(f"{job.type}: {refused}", ANCHOR_BACKOFF)


def apply_retention(services: Services) -> JobHandler:
    """Daily: what is past its period goes, unless it is on legal hold."""

    async def remove(now: datetime) -> int:
        removed = await apply(services.retention_store or services.store, services.periods, now)
        if counted := {name.replace(" ", "_"): number for name, number in removed.items() if number}:
            log.info("retention_applied", **counted)
        return sum(removed.values())

    return _timely(JobType.APPLY_RETENTION, services, remove)


def probe_payers(services: Services) -> JobHandler:
    """Every five minutes: ask whether payers are there, wake the claims that wait for them.

    A run that takes longer than the cycle overlaps with the next without harm.
    """
    probing = Probing(services.store, services.payer_limits, services.waker, services.probe)
    return _maintenance(JobType.PROBE_PAYERS, services, probing.all, minutes=5)


def start_claims(services: Services) -> JobHandler:
    """Every five minutes: start the claims whose message got lost between our commit and the engine."""
    return _maintenance(JobType.START_CLAIMS, services, lambda _now: services.start_received())


def start_emails(services: Services) -> JobHandler:
    """Every five minutes: start the mails whose message or process got lost; those whose time is over die,
    and the dead find their place. While clocks disagree, none dies of age."""

    async def start(now: datetime) -> int:
        if services.mail is None:
            return 0
        ended = await end_cancelled(services.mail.sender, services.process_ended, now)
        started = ended + await start_lost(services.mail.queue, now)
        return started + await move_in(services.store, now, services.observe)

    async def start_and_end(now: datetime) -> int:
        if services.mail is None:
            return 0
        expired = await end_overdue(services.mail.sender, services.nudges, now)
        await services.store.run(lambda tx: forget_idle(tx, now))
        return expired + await start(now)

    async def start_alone(job: Job, apart: ClocksDisagree) -> Outcome:
        log.warning("mail_not_expired", why=str(apart))
        return await _maintenance(JobType.START_EMAILS, services, start).handle(job)

    return _held_to_clocks(_maintenance(JobType.START_EMAILS, services, start_and_end), services, start_alone)


def expire_dead_letters(services: Services) -> JobHandler:
    """Hourly: dead letters whose seven days are over."""

    async def expire(now: datetime) -> int:
        return await expire_letters(services.store, now, services.observe)

    return _timely(JobType.EXPIRE_DEAD_LETTERS, services, expire)


def heal_standing(services: Services) -> JobHandler:
    """Every five minutes: find what stands still while others move, and push it on.

    While clocks disagree nobody can say what is late: it is told, and nothing is done.
    """
    late_after = max(LATE_AFTER, 2 * services.clock_check.tolerance)
    watch = StandingWatch(services.store, services.nudges, services.observe, late_after)

    async def look(now: datetime) -> int:
        nudged = await watch.look(now)
        await services.store.run(lambda tx: tx.upkeep_runs.done(UpkeepTask.STANDING, now=now))
        return nudged

    async def not_looked(_job: Job, apart: ClocksDisagree) -> Outcome:
        log.warning("standing_not_looked_for", why=str(apart))
        return Complete({Variable.PROCESSED_COUNT: 0})

    return _held_to_clocks(
        _maintenance(JobType.HEAL_STANDING, services, look, minutes=5), services, not_looked
    )


def snapshot_kpis(services: Services) -> JobHandler:
    """Daily: count the KPIs of the last days and weeks."""

    async def take(now: datetime) -> int:
        return await take_snapshot(services.store, services.policy().zone, now)

    return _timely(JobType.SNAPSHOT_KPIS, services, take)


def send_reports(services: Services) -> JobHandler:
    """Daily: the control reports that are due, by mail."""

    async def send(now: datetime) -> int:
        if services.mail is None:
            return 0
        return await ReportMail(services.store, services.mail, services.policy().zone).send_due(now)

    return _timely(JobType.SEND_REPORTS, services, send)


def _timely(job_type: JobType, services: Services, work: Work) -> JobHandler:
    """Work that seals, counts or removes by the time: it fails, and does nothing, while clocks disagree."""

    async def failed(job: Job, apart: ClocksDisagree) -> Outcome:
        return Fail(f"{job.type}: {apart}", CLOCKS_BACKOFF)

    return _held_to_clocks(_maintenance(job_type, services, work), services, failed)


def _held_to_clocks(
    handler: JobHandler, services: Services, otherwise: Callable[[Job, ClocksDisagree], Awaitable[Outcome]]
) -> JobHandler:
    """The handler, which does not run while clocks disagree; what is done and answered then."""
    lock = services.limits.applied_to(handler).lock

    async def handle(job: Job) -> Outcome:
        try:
            await services.clock_check.agreed(engine_time(job, lock, await services.clock.now()))
        except ClocksDisagree as apart:
            return await otherwise(job, apart)
        return await handler.handle(job)

    return replace(handler, handle=handle)


def _maintenance(job_type: JobType, services: Services, work: Work, *, minutes: int = 10) -> JobHandler:
    async def handle(_job: Job) -> Outcome:
        return Complete({Variable.PROCESSED_COUNT: await work(await services.clock.now())})

    return JobHandler(
        type=job_type,
        variables=(Variable.PROCESSED_COUNT,),
        handle=handle,
        lock=timedelta(minutes=minutes),
        time_limit=timedelta(minutes=minutes - 1),
        at_once=1,
    )
