"""Retry decisions: a redelivered job gets the stored one back."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.tables import retry_decisions as decisions


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision as it was reported, with the policy it was made with."""

    job_key: int
    claim_id: str
    retry_count: int
    policy_version: str
    decided_at: datetime
    next_retry_time: datetime | None
    result: dict[str, Any]


class Decisions:
    """Decisions by the job that asked for them."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def of_job(self, job_key: int, claim_id: str, retry_count: int) -> StoredDecision | None:
        """What was decided for this job, claim and count, if it was delivered before."""
        query = select(decisions).where(
            decisions.c.job_key == job_key,
            decisions.c.claim_id == claim_id,
            decisions.c.retry_count == retry_count,
        )
        row = (await self._connection.execute(query)).one_or_none()
        return None if row is None else StoredDecision(**row._mapping)

    async def keep(self, decision: StoredDecision) -> None:
        """Keep a decision for its job; one made for the job before gives way."""
        await self._connection.execute(delete(decisions).where(decisions.c.job_key == decision.job_key))
        await self._connection.execute(insert(decisions).values(asdict(decision)))
