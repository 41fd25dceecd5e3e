"""Retry decisions: a redelivered job gets the stored one back."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select
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
    result: dict[str, Any]


class Decisions:
    """Decisions by the job that asked for them."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def of_job(self, job_key: int, claim_id: str, retry_count: int) -> dict[str, Any] | None:
        """What was reported for this job, claim and count, if it was decided before."""
        query = select(decisions.c.result).where(
            decisions.c.job_key == job_key,
            decisions.c.claim_id == claim_id,
            decisions.c.retry_count == retry_count,
        )
        result: dict[str, Any] | None = await self._connection.scalar(query)
        return result

    async def add(self, decision: StoredDecision) -> None:
        """Keep a decision for its job."""
        await self._connection.execute(insert(decisions).values(asdict(decision)))
