"""What people look at first: what stands still and why, and what goes out by itself and when."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.catalog import Team
from domain.claim_state import ClaimState
from domain.decision import Cause
from domain.payer_status import PayerState
from domain.reviews import ReviewReason
from persistence.tables import claims, payer_status, payer_waits, reviews
from persistence.tables import retry_decisions as decisions

PAYER_STOPPED = "PAYER_STOPPED"
"""In the place of a reason: its payer has refused our access, and nothing is sent there."""


@dataclass(frozen=True, slots=True)
class StoppedGroup:
    """Claims that wait for people for one cause: how many, since when the oldest, when the first is due.

    `category` is told of permanent errors, and of retries that a deadline has ended; without a `reason` they
    stand on an incident.
    """

    team: str | None
    reason: str | None
    category: str | None
    number: int
    oldest: datetime | None
    nearest_deadline: datetime | None


class Overview:
    """Counts over the open claims alone, however many have ended."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def in_review(self) -> Sequence[StoppedGroup]:
        """Claims in review by team and cause, the largest group first."""
        columns = reviews.c.team, claims.c.reason, _told_category()
        query = (
            select(*columns, func.count(), func.min(reviews.c.opened_at), func.min(claims.c.deadline))
            .join_from(claims, reviews, reviews.c.review_id == _latest_review())
            .where(claims.c.state == ClaimState.IN_REVIEW, claims.c.incident.is_(None))
            .group_by(*columns)
        )
        groups = [StoppedGroup(*row) for row in await self._connection.execute(query)]
        return sorted(groups, key=lambda group: -group.number)

    async def on_incidents(self) -> StoppedGroup | None:
        """Claims that stand on an incident, whatever it is."""
        query = select(func.count(), func.min(claims.c.updated_at), func.min(claims.c.deadline))
        row = (await self._connection.execute(query.where(claims.c.incident.is_not(None)))).one()
        return StoppedGroup(None, None, None, *row) if row[0] else None

    async def held(self) -> Mapping[PayerState, StoppedGroup]:
        """Claims that wait for their payers, by how those are."""
        columns = (
            payer_status.c.state,
            func.count(),
            func.min(payer_waits.c.since),
            func.min(claims.c.deadline),
        )
        query = (
            select(*columns)
            .join_from(claims, payer_waits, payer_waits.c.claim_id == claims.c.claim_id)
            .join(payer_status, payer_status.c.payer_id == payer_waits.c.payer_id)
            .where(claims.c.state == ClaimState.WAITING, claims.c.incident.is_(None))
            .group_by(payer_status.c.state)
        )
        rows = await self._connection.execute(query)
        return {
            PayerState(state): StoppedGroup(Team.OPERATIONS, PAYER_STOPPED, None, number, since, due)
            for state, number, since, due in rows
        }

    async def going(self, states: Collection[ClaimState]) -> Mapping[ClaimState, int]:
        """How many claims go their way in each of these states; none that stands on an incident."""
        these = claims.c.state.in_([state.value for state in states])
        query = select(claims.c.state, func.count()).where(these, claims.c.incident.is_(None))
        rows = await self._connection.execute(query.group_by(claims.c.state))
        counted = {ClaimState(state): number for state, number in rows}
        return {state: counted.get(state, 0) for state in states}

    async def coming(self, bounds: Sequence[datetime]) -> Sequence[int]:
        """How many claims go out by themselves before each of the moments, and in all; none that is held."""
        before = (func.coalesce(func.sum(_as_number(claims.c.next_retry_time < at)), 0) for at in bounds)
        held = select(payer_waits.c.claim_id).where(payer_waits.c.claim_id == claims.c.claim_id).exists()
        query = select(*before, func.count()).where(
            claims.c.state == ClaimState.WAITING, claims.c.incident.is_(None), ~held
        )
        return [int(number) for number in (await self._connection.execute(query)).one()]


def _as_number(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)


def _latest_review() -> ColumnElement[int]:
    latest = reviews.alias()
    query = select(func.max(latest.c.review_id)).where(latest.c.claim_id == claims.c.claim_id)
    return query.correlate(claims).scalar_subquery()


def latest_team() -> ColumnElement[str]:
    """Whom a claim's newest review waits for; asked claim by claim."""
    query = select(reviews.c.team).where(reviews.c.review_id == _latest_review())
    return query.correlate(claims).scalar_subquery()


def latest_category() -> ColumnElement[str]:
    """What a claim's newest decision called its error."""
    return _of_newest_decision("error_category")


def latest_cause() -> ColumnElement[str]:
    """What ended a claim's retries, by its newest decision."""
    return _of_newest_decision("cause")


def latest_error() -> ColumnElement[str]:
    """The error of a claim's newest decision."""
    return _of_newest_decision("submission_error")


def _of_newest_decision(column: str) -> ColumnElement[Any]:
    """Asked claim by claim: joined, PostgreSQL reads all decisions as soon as many claims stand still."""
    newest = decisions.alias()
    query = select(newest.c[column]).where(newest.c.claim_id == claims.c.claim_id)
    return query.order_by(newest.c.decision_id.desc()).limit(1).correlate(claims).scalar_subquery()


def _told_category() -> ColumnElement[str | None]:
    """The kind of a refusal; of spent retries, whether their deadline has ended them."""
    is_permanent = claims.c.reason == literal(ReviewReason.PERMANENT_ERROR.value)
    is_spent = claims.c.reason == literal(ReviewReason.MAX_RETRIES_EXCEEDED.value)
    by_deadline = and_(is_spent, latest_cause() == literal(Cause.DEADLINE.value))
    return case(
        (is_permanent, latest_category()), (by_deadline, literal(Cause.DEADLINE.value)), else_=None
    ).label("category")
