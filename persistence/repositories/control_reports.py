"""What control reports tell of a period: claims given up, and failures by kind and payer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, distinct, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.catalog import ErrorClassification
from domain.kpis.periods import Period
from persistence.tables import claims, first_rounds
from persistence.tables import retry_decisions as decisions

GAVE_UP = ~decisions.c.should_retry
BY_CLASS = and_(
    decisions.c.cause.is_(None),
    decisions.c.error_classification == ErrorClassification.PERMANENT,
    decisions.c.retry_count < decisions.c.max_retries,
)
PERMANENT = GAVE_UP & BY_CLASS
EXHAUSTED = GAVE_UP & or_(decisions.c.cause.is_not(None), ~BY_CLASS)
NOBODY = "-"


@dataclass(frozen=True, slots=True)
class GivenUpClaim:
    """A claim that was given up, why, and where it stands now; without a payer another process sends it."""

    claim_id: str
    payer_id: str | None
    decided_at: datetime
    category: str
    cause: str | None
    retry_count: int
    state: str | None


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Failures of one kind or payer: decisions, claims, and what was decided."""

    name: str
    decisions: int
    claims: int
    retries: int
    permanent: int
    exhausted: int


class ControlReports:
    """Reads decisions of a period."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def permanent(self, period: Period, limit: int) -> Sequence[GivenUpClaim]:
        """Permanent decisions, oldest first."""
        return await self._given_up(PERMANENT, period, limit)

    async def exhausted(self, period: Period, limit: int) -> Sequence[GivenUpClaim]:
        """Decisions by which retries or time ran out, oldest first."""
        return await self._given_up(EXHAUSTED, period, limit)

    async def by_category(self, period: Period) -> Sequence[FailureCount]:
        """Failures by the kind of error, the most frequent first."""
        kind = decisions.c.error_category
        return await self._failures(_failures(kind).where(_during(period)).group_by(kind))

    async def by_payer(self, period: Period) -> Sequence[FailureCount]:
        """Failures by payer, the most first."""
        payer = claims.c.payer_id
        query = _failures(payer).outerjoin(claims, claims.c.claim_id == decisions.c.claim_id)
        return await self._failures(query.where(_during(period)).group_by(payer))

    async def retries_needed(self, period: Period) -> Sequence[tuple[int, int]]:
        """How many claims were recovered by their first retry, their second and so on."""
        rounds = first_rounds.c
        during = and_(rounds.first_failed_at >= period.start, rounds.first_failed_at < period.end)
        query = select(rounds.retries_sent, func.count()).where(during, rounds.accepted_at.is_not(None))
        rows = await self._connection.execute(query.group_by(rounds.retries_sent))
        return sorted((int(retries), int(number)) for retries, number in rows)

    async def _given_up(
        self, which: ColumnElement[bool], period: Period, limit: int
    ) -> Sequence[GivenUpClaim]:
        columns = decisions.c
        query = (
            select(
                *(columns.claim_id, claims.c.payer_id, columns.decided_at, columns.error_category),
                *(columns.cause, columns.retry_count, claims.c.state),
            )
            .outerjoin(claims, claims.c.claim_id == columns.claim_id)
            .where(_during(period), which)
            .order_by(columns.decided_at, columns.decision_id)
            .limit(limit)
        )
        return [GivenUpClaim(*row) for row in await self._connection.execute(query)]

    async def _failures(self, query: Select[Any]) -> Sequence[FailureCount]:
        rows = await self._connection.execute(query)
        found = [FailureCount(name or NOBODY, *numbers) for name, *numbers in rows]
        return sorted(found, key=lambda one: (-one.decisions, one.name))


def _failures(name: ColumnElement[Any]) -> Select[Any]:
    number = func.count()
    return select(
        name,
        number,
        func.count(distinct(decisions.c.claim_id)),
        number.filter(decisions.c.should_retry),
        number.filter(PERMANENT),
        number.filter(EXHAUSTED),
    ).select_from(decisions)


def _during(period: Period) -> ColumnElement[bool]:
    at = decisions.c.decided_at
    return and_(at >= period.start, at < period.end)
