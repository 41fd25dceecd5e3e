"""What went to payers of late, what came of it, and in which states they were: read for people."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, func, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.lifecycle_events import PayerStateChangedEvent
from domain.payer_status import PayerState
from persistence.repositories.attempts import NOT_SENT
from persistence.repositories.noting import payer_chain
from persistence.tables import claims, outbox, payer_waits
from persistence.tables import retry_decisions as decisions
from persistence.tables import submission_attempts as attempts

CHANGED = outbox.c.type == literal_column(f"'{PayerStateChangedEvent.__name__}'")
"""As its index says it: with a bound value SQLite would not know that the index serves."""


@dataclass(frozen=True, slots=True)
class PayerMove:
    """A payer went from one state into another."""

    payer_id: str
    at: datetime
    before: PayerState
    after: PayerState


@dataclass(frozen=True, slots=True)
class AnswerCount:
    """How many sends to a payer ended in one way; without an outcome the answer is not known."""

    payer_id: str
    outcome: str | None
    number: int
    last_minute: int


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """How many decisions were about one kind of error."""

    category: str
    number: int


class PayerTraffic:
    """Counts of late; reads only."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def moves(self, since: datetime, payer_id: str | None = None) -> Sequence[PayerMove]:
        """Changes of state since a moment, oldest first; those that retention has removed are not known."""
        query = select(outbox.c.payload, outbox.c.created_at).where(CHANGED, outbox.c.created_at >= since)
        if payer_id is not None:
            query = query.where(outbox.c.claim_id == payer_chain(payer_id))
        rows = await self._connection.execute(query.order_by(outbox.c.created_at, outbox.c.position))
        return [_move(json.loads(payload), at) for payload, at in rows]

    async def answers(self, since: datetime, last_minute: datetime) -> Sequence[AnswerCount]:
        """Sends that began since a moment, by payer and what came of them."""
        late = func.sum(case((attempts.c.started_at >= last_minute, 1), else_=0))
        query = (
            select(claims.c.payer_id, attempts.c.outcome, func.count(), late)
            .outerjoin_from(attempts, claims, claims.c.claim_id == attempts.c.claim_id)
            .where(attempts.c.started_at >= since, attempts.c.outcome.is_distinct_from(NOT_SENT))
            .group_by(claims.c.payer_id, attempts.c.outcome)
        )
        rows = await self._connection.execute(query)
        return [AnswerCount(payer, outcome, int(n), int(m)) for payer, outcome, n, m in rows if payer]

    async def failures(self, since: datetime, payer_id: str) -> Sequence[CategoryCount]:
        """What was decided on since a moment about a payer's claims, by kind of error, most first.

        All payers are counted, and claims joined from outside: else SQLite begins with the payers, to have
        them in order, and reads every decision there ever was.
        """
        number = func.count()
        query = (
            select(claims.c.payer_id, decisions.c.error_category, number)
            .outerjoin_from(decisions, claims, claims.c.claim_id == decisions.c.claim_id)
            .where(decisions.c.decided_at >= since)
            .group_by(claims.c.payer_id, decisions.c.error_category)
            .order_by(number.desc(), decisions.c.error_category)
        )
        rows = await self._connection.execute(query)
        return [CategoryCount(category, n) for payer, category, n in rows if payer == payer_id]

    async def with_slot(self, payer_id: str) -> int:
        """How many claims that wait for the payer have been given their turn."""
        mine = (payer_waits.c.payer_id == payer_id) & payer_waits.c.slot_at.is_not(None)
        return await self._connection.scalar(select(func.count()).where(mine)) or 0


def _move(payload: dict[str, str], at: datetime) -> PayerMove:
    before, after = PayerState(payload["previousState"]), PayerState(payload["state"])
    return PayerMove(payload["payerId"], at, before, after)
