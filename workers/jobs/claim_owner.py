"""One process sends a claim: a job of another is an incident, unless the first is gone from the engine."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar

import structlog

from domain.errors import Trouble
from domain.permission import OfAnother
from persistence.store import Transaction
from workers.jobs.services import Services
from workers.runtime.job import Job
from workers.runtime.outcome import Incident, Postpone

Result = TypeVar("Result")
ASK_AGAIN = timedelta(seconds=20)
log = structlog.get_logger(__name__)


async def in_own_name(
    services: Services, job: Job, claim_id: str, work: Callable[[], Awaitable[Result | OfAnother]]
) -> Result | Incident | Postpone:
    """Do the work; where the claim is another process's that has ended, take it over first."""
    done = await work()
    if not isinstance(done, OfAnother):
        return done
    try:
        runs = await services.process_runs(done.process)
    except Trouble as trouble:
        return Postpone(f"{claim_id}: whether process {done.process} runs is not known: {trouble}", ASK_AGAIN)
    if runs:
        return _anothers(job, claim_id, done)
    now = await services.clock.now()
    await services.store.run(lambda tx: _take_over(tx, job, claim_id, done, now))
    again = await work()
    if isinstance(again, OfAnother):
        return Postpone(f"{claim_id} has just been taken over by {again.process}", ASK_AGAIN)
    return again


async def _take_over(tx: Transaction, job: Job, claim_id: str, before: OfAnother, now: datetime) -> None:
    if await tx.claims.disown(claim_id, before.process):
        line = f"process instance {before.process} is gone: {job.process_instance_key} goes on"
        await tx.journal.write(claim_id, "taken_over", line, now=now)


def _anothers(job: Job, claim_id: str, owner: OfAnother) -> Incident:
    log.warning("claim_of_another", claim=claim_id, instance=job.process_instance_key, owner=owner.process)
    return Incident(
        f"{job.type}: {claim_id} is sent by process instance {owner.process}, and one process sends a claim. "
        f"Cancel this instance ({job.process_instance_key}) in Operate; or, if the claim shall go on here, "
        f"cancel instance {owner.process} and retry this incident.",
        is_undone=True,
    )
