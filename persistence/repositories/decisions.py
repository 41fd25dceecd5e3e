"""Retry decisions: a redelivered job gets the stored one back; later rounds are decided anew."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from domain.outputs import cause_of
from persistence.database.dialect import among
from persistence.database.rows import row_of
from persistence.repositories.draft import DecisionDraft
from persistence.tables import claims
from persistence.tables import retry_decisions as decisions


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision as it was reported, with the policy it was made with.

    It is also RN-BIL-005's RetryAttempt. A claim's newest one says where its retries stand, all of them are
    its history: together they are that rule's aggregate. `cause` is what ran out, empty in rows of earlier
    versions.
    """

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
    cause: str | None = None

    def answers(self, draft: DecisionDraft) -> bool:
        """Whether this is what the draft's job was answered; a time that has passed is never given again."""
        asked = self.job_key, self.process_instance_key, self.retry_count
        if asked != (draft.job_key, draft.process_instance_key, draft.asked_count):
            return False
        return self.next_retry_time is None or self.next_retry_time > draft.decision.decided_at


@dataclass(frozen=True, slots=True)
class DecidedError:
    """An error as it may be told, and what was said when it was decided on."""

    retry_reason: str
    error: str


COLUMNS = tuple(decisions.c[name] for name in StoredDecision.__dataclass_fields__)


class Decisions:
    """Decisions by claim and by time: RN-BIL-005's RetryAttemptRepository."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def of_claims(self, claim_ids: Collection[str]) -> Sequence[StoredDecision]:
        """findByClaimId, for several claims at once: all decisions about them, oldest first."""
        query = select(*COLUMNS).where(among(self._connection, decisions.c.claim_id, claim_ids))
        rows = await self._connection.execute(query.order_by(decisions.c.claim_id, decisions.c.decided_at))
        return [_stored(row) for row in rows]

    async def latest_errors(self, claim_ids: Collection[str]) -> Mapping[str, DecidedError]:
        """What was last decided on, by claim."""
        if not claim_ids:
            return {}
        query = select(decisions.c.claim_id, decisions.c.retry_reason, decisions.c.submission_error)
        query = query.where(among(self._connection, decisions.c.claim_id, claim_ids))
        rows = await self._connection.execute(query.order_by(decisions.c.decision_id))
        return {row.claim_id: DecidedError(row.retry_reason, row.submission_error) for row in rows}

    async def count(self, claim_id: str) -> int:
        """countAttempts."""
        query = select(func.count()).where(decisions.c.claim_id == claim_id)
        return await self._connection.scalar(query) or 0

    async def pending(self, now: datetime, limit: int = 200) -> Sequence[StoredDecision]:
        """findPendingRetries: the retries that claims wait for, soonest first.

        Claims of ours are pending for as long as they wait, also when overdue. Of a claim that another
        process sends we know the decision alone: its retry is pending until its time has come.
        """
        found = [
            (row.due, _stored(row))
            for query in (_waiting_here(), _waiting_elsewhere(now))
            for row in await self._connection.execute(query.order_by("due").limit(limit))
        ]
        return [stored for _, stored in sorted(found, key=itemgetter(0))[:limit]]

    async def keep(self, stored: Iterable[StoredDecision]) -> None:
        """saveAttempt, for several at once."""
        await self._connection.execute(insert(decisions), [row_of(decision) for decision in stored])


def _stored(row: Row[Any]) -> StoredDecision:
    return StoredDecision(**{name: row._mapping[name] for name in StoredDecision.__dataclass_fields__})


def _waiting_here() -> Select[Any]:
    newest = _newest(claims.c.claim_id)
    return (
        select(*COLUMNS, claims.c.next_retry_time.label("due"))
        .select_from(claims)
        .join(decisions, decisions.c.decision_id == newest)
        .where(claims.c.state == ClaimState.WAITING, decisions.c.should_retry)
    )


def _waiting_elsewhere(now: datetime) -> Select[Any]:
    # asked row by row: joined, all claims would be read
    ours = select(claims.c.state).where(claims.c.claim_id == decisions.c.claim_id).scalar_subquery()
    newest = _newest(decisions.c.claim_id, decisions.c.process_instance_key)
    return select(*COLUMNS, decisions.c.next_retry_time.label("due")).where(
        decisions.c.next_retry_time > now, ours.is_(None), decisions.c.decision_id == newest
    )


def _newest(claim_id: ColumnElement[str], instance: ColumnElement[int] | None = None) -> ColumnElement[int]:
    """The id of the newest decision about a claim, or about a claim in one process instance."""
    older = decisions.alias()
    same = older.c.claim_id == claim_id
    if instance is not None:
        same = and_(same, older.c.process_instance_key == instance)
    return select(func.max(older.c.decision_id)).where(same).scalar_subquery()


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
        cause=cause_of(decision),
    )
