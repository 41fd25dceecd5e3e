"""Incidents of claims' processes: what our own jobs raised, kept with the claim until it moves on."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ENDS, ClaimState
from persistence.database.dialect import insert_into
from persistence.database.rows import row_of
from persistence.tables import claims


@dataclass(frozen=True, slots=True)
class StuckJob:
    """A job that raised an incident, and where its process stands; the engine holds the truth.

    `first_key` is the key under which its work is on record: its own, or that of the job it goes on from.
    """

    message: str
    since: datetime
    type: str
    key: int
    first_key: int
    element_id: str
    element_instance_key: int
    process_instance_key: int


def read_stuck_job(stored: dict[str, Any] | None) -> StuckJob | None:
    """The job, from what is kept."""
    if stored is None:
        return None
    return StuckJob(**(stored | {"since": datetime.fromisoformat(stored["since"])}))


class Incidents:
    """Incidents by claim; every move of a claim clears its own."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def note(self, claim_id: str, job: StuckJob, *, sends: bool) -> bool:
        """Keep the incident with its claim; False when the claim is not known, or is another process's.

        While nobody knows whose it is, it is the process's that `sends` it.
        """
        mine = claims.c.claim_id == claim_id
        query = select(claims.c.process_instance_key, claims.c.incident).where(mine).with_for_update()
        row = (await self._connection.execute(query)).one_or_none()
        if row is None or not _is_of(
            row.process_instance_key, read_stuck_job(row.incident), job, sends=sends
        ):
            return False
        stored = row_of(job) | {"since": job.since.isoformat()}
        values = {"incident": stored, "process_instance_key": job.process_instance_key}
        await self._connection.execute(update(claims).where(mine).values(values))
        return True

    async def make_known(self, claim_id: str, payer_id: str, *, now: datetime) -> None:
        """From now on a claim is known whose first send did not even begin."""
        row = {"claim_id": claim_id, "payer_id": payer_id, "state": ClaimState.FAILED}
        times = {"created_at": now, "updated_at": now}
        new = insert_into(self._connection, claims).values(row | times)
        await self._connection.execute(new.on_conflict_do_nothing())

    async def clear(self, claim_id: str, job: StuckJob) -> None:
        """Its process has gone on, unless another job of it has got stuck meanwhile."""
        mine = claims.c.claim_id == claim_id
        kept = await self._connection.scalar(select(claims.c.incident).where(mine).with_for_update())
        if read_stuck_job(kept) == job:
            await self._connection.execute(update(claims).where(mine).values(incident=None))

    async def by_type(self) -> Mapping[str, int]:
        """How many claims that have not ended stand on an incident, by the type of the job that raised it."""
        job_type = claims.c.incident["type"].as_string().label("job_type")
        number = func.count().label("number")
        open_ones = claims.c.incident.is_not(None) & claims.c.state.not_in(ENDS)
        query = select(job_type, number).where(open_ones).group_by(job_type)
        return {row.job_type: row.number for row in await self._connection.execute(query)}

    async def count(self, payer_id: str) -> int:
        """How many claims to the payer stand on an incident."""
        stuck = (claims.c.payer_id == payer_id) & claims.c.incident.is_not(None)
        return await self._connection.scalar(select(func.count()).where(stuck)) or 0


def _is_of(process: int | None, stands_on: StuckJob | None, job: StuckJob, *, sends: bool) -> bool:
    own = process or (stands_on.process_instance_key if stands_on else None)
    return sends if own is None else own == job.process_instance_key
