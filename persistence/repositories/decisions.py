"""Retry decisions: a redelivered job gets the stored one back; later rounds are decided anew."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.attempt import RetryAttempt
from domain.claim_state import ClaimState
from persistence.database.dialect import among
from persistence.database.rows import row_of
from persistence.repositories.draft import DecisionDraft
from persistence.tables import claims
from persistence.tables import retry_decisions as decisions


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision as it was reported, with the policy it was made with; also an attempt of the history."""

    claim_id: str
    retry_count: int
    process_instance_key: int
    round: int
    job_key: int
    attempt_number: int
    submission_error: str
    error_classification: str
    error_category: str
    max_retries: int
    backoff_minutes: int
    should_retry: bool
    retry_reason: str
    policy_version: str
    decided_at: datetime
    next_retry_time: datetime | None
    audit_sequence: int
    result: dict[str, Any]
    deadline: datetime | None = None

    def answers(self, draft: DecisionDraft) -> bool:
        """Whether this is what the draft's job was answered; a time that has passed is never given again."""
        asked = self.job_key, self.process_instance_key, self.retry_count
        if asked != (draft.job_key, draft.process_instance_key, draft.asked_count):
            return False
        return self.next_retry_time is None or self.next_retry_time > draft.decision.decided_at


COLUMNS = tuple(decisions.c[name] for name in StoredDecision.__dataclass_fields__)


class Decisions:
    """Decisions by claim and by time: RN-BIL-005's RetryAttemptRepository."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def of_claims(self, claim_ids: Collection[str]) -> Sequence[StoredDecision]:
        """All decisions about some claims, oldest first."""
        query = select(*COLUMNS).where(among(self._connection, decisions.c.claim_id, claim_ids))
        rows = await self._connection.execute(query.order_by(decisions.c.claim_id, decisions.c.decided_at))
        return [_stored(row) for row in rows]

    async def attempts(self, claim_id: str) -> Sequence[RetryAttempt]:
        """findByClaimId: the claim's failures and what was done about each."""
        return [
            RetryAttempt(d.attempt_number, d.decided_at, d.submission_error, d.backoff_minutes)
            for d in await self.of_claims([claim_id])
        ]

    async def count(self, claim_id: str) -> int:
        """countAttempts."""
        query = select(func.count()).where(decisions.c.claim_id == claim_id)
        return await self._connection.scalar(query) or 0

    async def pending(self, limit: int = 200) -> Sequence[StoredDecision]:
        """findPendingRetries: the retry each waiting claim waits for, overdue ones too; soonest first."""
        older = decisions.alias()
        newest = select(func.max(older.c.decision_id)).where(older.c.claim_id == claims.c.claim_id)
        query = (
            select(*COLUMNS)
            .select_from(claims)
            .join(decisions, decisions.c.decision_id == newest.scalar_subquery())
            .where(claims.c.state == ClaimState.WAITING, decisions.c.should_retry)
            .order_by(claims.c.next_retry_time)
            .limit(limit)
        )
        return [_stored(row) for row in await self._connection.execute(query)]

    async def keep(self, stored: Iterable[StoredDecision]) -> None:
        """saveAttempt, for several at once."""
        await self._connection.execute(insert(decisions), [row_of(decision) for decision in stored])


def _stored(row: Row[Any]) -> StoredDecision:
    return StoredDecision(**row._mapping)


def stored_form(draft: DecisionDraft, *, round_: int, audit_sequence: int) -> StoredDecision:
    """The row of a draft."""
    decision, retry = draft.decision, draft.retry
    return StoredDecision(
        claim_id=draft.claim_id,
        retry_count=draft.asked_count,
        process_instance_key=draft.process_instance_key,
        round=round_,
        job_key=draft.job_key,
        attempt_number=draft.asked_count + 1,
        submission_error=decision.last_error,
        error_classification=decision.classification.value,
        error_category=decision.finding.category,
        max_retries=decision.max_retries,
        backoff_minutes=retry.backoff_minutes if retry else 0,
        should_retry=retry is not None,
        retry_reason=decision.reason,
        policy_version=decision.policy_version,
        decided_at=decision.decided_at,
        next_retry_time=retry.next_retry_time if retry else None,
        audit_sequence=audit_sequence,
        result=draft.result,
        deadline=decision.deadline,
    )
