"""The desk of suspended claims: grouped by cause, narrowed down, and who has which review."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Row,
    Select,
    and_,
    case,
    exists,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.catalog import Team
from domain.claim_state import ClaimState
from domain.decision import Cause
from domain.reviews import ReviewReason
from persistence.database.dialect import among, insert_into
from persistence.repositories.attempts import standing_arrival
from persistence.repositories.claims import ClaimRow
from persistence.repositories.incidents import read_stuck_job
from persistence.repositories.overview import latest_category, latest_cause, latest_error
from persistence.tables import bulk_items, claims, reviews
from persistence.tables import review_assignees as assignees
from persistence.tables import submission_attempts as attempts

INCIDENT = "INCIDENT"
"""In the place of a reason: the claim's process stands on an incident, whatever its state."""
_IS_LEFT = bulk_items.c.state.in_(["PENDING", "TAKEN"])
BY_DEADLINE = "DEADLINE"
"""In the place of a category: the deadline ended the retries, and not their number."""


@dataclass(frozen=True, slots=True)
class DeskFilter:
    """Which suspended claims; None does not narrow.

    `entry` is the catalog's entry that was found in a refusal, in its long form. Without a `reason` all that
    are in review are meant, and none that stands on an incident.
    """

    team: str | None = None
    reason: str | None = None
    category: str | None = None
    entry: str | None = None
    payer_id: str | None = None
    assignee: str | None = None
    claim_id: str | None = None
    claim_ids: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ReviewGroup:
    """Claims that wait for one cause: how many, since when, when the first is due, how many somebody has."""

    team: str
    reason: str
    category: str | None
    entry: str | None
    payer_id: str
    number: int
    oldest: datetime | None
    nearest_deadline: datetime | None
    assigned: int


@dataclass(frozen=True, slots=True)
class DeskPlace:
    """Where a page ended: the moment its last review was opened, and whose it is."""

    since: datetime
    claim_id: str


@dataclass(frozen=True, slots=True)
class Suspended:
    """A suspended claim: its review, since when, who has it, and whether its payer may have it."""

    claim: ClaimRow
    review_id: int | None
    since: datetime
    assignee: str | None
    may_be_at_payer: bool


@dataclass(frozen=True, slots=True)
class SelectedClaim:
    """As much of a suspended claim as an order about many needs; `is_ordered`: one is to come to it."""

    claim_id: str
    payer_id: str
    review_id: int | None
    may_be_at_payer: bool
    is_ordered: bool


class ReviewDesk:
    """Reads groups and their claims, the longest waiting first; keeps who has which review."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def groups(self, team: str | None = None) -> Sequence[ReviewGroup]:
        """All causes, or those of one team; in no order."""
        columns = _team(), claims.c.reason, _category(), _entry(), claims.c.payer_id
        counted = func.count(), func.min(reviews.c.opened_at), func.min(claims.c.deadline)
        query = select(*columns, *counted, func.count(assignees.c.login)).select_from(_desk())
        query = query.where(*_conditions(DeskFilter(team=team))).group_by(*columns)
        return [ReviewGroup(*row) for row in await self._connection.execute(query)]

    async def incidents(self) -> Sequence[ReviewGroup]:
        """Claims that stand on an incident, by payer."""
        counted = func.count(), func.min(claims.c.updated_at), func.min(claims.c.deadline)
        cause = literal(Team.OPERATIONS.value), literal(INCIDENT), null(), null()
        payer = claims.c.payer_id.concat(literal_column("''"))  # by its index all claims would be read
        query = select(*cause, payer, *counted, literal(0)).where(_stuck())
        rows = await self._connection.execute(query.group_by(payer))
        return [ReviewGroup(*row) for row in rows]

    async def page(
        self, wanted: DeskFilter, limit: int, after: DeskPlace | None = None
    ) -> Sequence[Suspended]:
        """Some claims, the longest waiting first, after a place."""
        query = self._query(wanted, claims, _since().label("since"))
        if after:
            later = and_(_since() == after.since, claims.c.claim_id > after.claim_id)
            query = query.where(or_(_since() > after.since, later))
        rows = await self._connection.execute(query.order_by(_since(), claims.c.claim_id).limit(limit))
        return [_suspended(row) for row in rows]

    async def count(self, wanted: DeskFilter) -> int:
        """How many there are."""
        query = select(func.count()).select_from(_source(wanted)).where(*_conditions(wanted))
        return await self._connection.scalar(query) or 0

    async def selected(self, wanted: DeskFilter, limit: int) -> Sequence[SelectedClaim]:
        """All of them, the longest waiting first; no more than the limit."""
        query = self._query(wanted, claims.c.claim_id, claims.c.payer_id, _is_ordered()).limit(limit)
        rows = await self._connection.execute(query.order_by(_since(), claims.c.claim_id))
        return [
            SelectedClaim(
                row.claim_id, row.payer_id, row.review_id, bool(row.may_be_at_payer), bool(row.is_ordered)
            )
            for row in rows
        ]

    async def open_review(self, claim_id: str) -> int | None:
        """The review that a claim waits in, if it does."""
        query = select(_latest_review()).where(claims.c.claim_id == claim_id, _in_review())
        return await self._connection.scalar(query)

    async def assignees(self, claim_ids: Collection[str]) -> Mapping[str, str]:
        """Who has the claims' open reviews, where somebody does."""
        query = select(assignees.c.claim_id, assignees.c.login).join_from(
            claims, assignees, assignees.c.review_id == _latest_review()
        )
        mine = among(self._connection, claims.c.claim_id, claim_ids)
        rows = await self._connection.execute(query.where(mine, _in_review()))
        return {row.claim_id: row.login for row in rows}

    async def assign(self, review_id: int, claim_id: str, login: str, *, now: datetime) -> None:
        """Somebody takes a review upon themselves, whoever had it before."""
        row = {"review_id": review_id, "claim_id": claim_id, "login": login, "assigned_at": now}
        new = insert_into(self._connection, assignees).values(row)
        changes = {"login": login, "assigned_at": now}
        await self._connection.execute(
            new.on_conflict_do_update(index_elements=[assignees.c.review_id], set_=changes)
        )

    def _query(self, wanted: DeskFilter, *columns: Any) -> Select[Any]:
        arrival = exists(select(attempts.c.attempt).where(standing_arrival(claims.c.claim_id)))
        found = or_(arrival, claims.c.reason == ReviewReason.PROTOCOL_MISSING).label("may_be_at_payer")
        return (
            select(*columns, reviews.c.review_id, assignees.c.login.label("assignee"), found)
            .select_from(_source(wanted))
            .where(*_conditions(wanted))
        )


def _suspended(row: Row[Any]) -> Suspended:
    values = {name: row._mapping[name] for name in ClaimRow.__dataclass_fields__}
    read = {"state": ClaimState(row.state), "incident": read_stuck_job(row.incident)}
    return Suspended(
        ClaimRow(**(values | read)), row.review_id, row.since, row.assignee, bool(row.may_be_at_payer)
    )


def _source(wanted: DeskFilter) -> FromClause:
    return _stuck_source() if wanted.reason == INCIDENT else _desk()


def _desk() -> FromClause:
    newest = and_(reviews.c.claim_id == claims.c.claim_id, reviews.c.review_id == _latest_review())
    return claims.join(reviews, newest).outerjoin(assignees, assignees.c.review_id == reviews.c.review_id)


def _stuck_source() -> FromClause:
    """The same columns, of which a claim on an incident has but its own."""
    return claims.outerjoin(reviews, reviews.c.review_id == literal(-1)).outerjoin(
        assignees, assignees.c.review_id == reviews.c.review_id
    )


def _in_review() -> ColumnElement[bool]:
    return and_(claims.c.state == ClaimState.IN_REVIEW, claims.c.incident.is_(None))


def _stuck() -> ColumnElement[bool]:
    return claims.c.incident.is_not(None)


def _is_ordered() -> ColumnElement[bool]:
    left = select(bulk_items.c.claim_id).where(bulk_items.c.claim_id == claims.c.claim_id, _IS_LEFT)
    return exists(left.correlate(claims)).label("is_ordered")


def _since() -> ColumnElement[datetime]:
    return func.coalesce(reviews.c.opened_at, claims.c.updated_at, type_=reviews.c.opened_at.type)


def _equals(column: Any, value: str) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = column == value
    return condition


def _conditions(wanted: DeskFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.payer_id:
        yield claims.c.payer_id == wanted.payer_id
    if wanted.claim_ids is not None:
        yield claims.c.claim_id.in_(sorted(wanted.claim_ids))
    if wanted.reason == INCIDENT:
        yield _stuck()
        return
    yield _in_review()
    asked = (wanted.team, wanted.reason, wanted.entry, wanted.assignee, wanted.claim_id)
    columns = (_team(), claims.c.reason, _entry(), assignees.c.login, claims.c.claim_id)
    for column, value in zip(columns, asked, strict=True):
        if value:
            yield _equals(column, value)
    if wanted.category:
        yield _category() == wanted.category
    elif wanted.reason == ReviewReason.MAX_RETRIES_EXCEEDED:
        yield _category().is_(None)


def _team() -> ColumnElement[str]:
    """One that nobody named is billing management, as the rules say."""
    return func.coalesce(reviews.c.team, literal(Team.BILLING_MANAGEMENT.value)).label("team")


def _category() -> ColumnElement[str | None]:
    """The kind of a refusal; of spent retries, whether it was their deadline that ended them."""
    permanent = claims.c.reason == literal(ReviewReason.PERMANENT_ERROR.value)
    exhausted = claims.c.reason == literal(ReviewReason.MAX_RETRIES_EXCEEDED.value)
    by_deadline = and_(exhausted, latest_cause() == literal(Cause.DEADLINE.value))
    return case((permanent, latest_category()), (by_deadline, literal(BY_DEADLINE)), else_=None).label(
        "category"
    )


def _entry() -> ColumnElement[str | None]:
    permanent = claims.c.reason == literal(ReviewReason.PERMANENT_ERROR.value)
    return case((permanent, latest_error()), else_=None).label("entry")


def _latest_review() -> ColumnElement[int]:
    latest = reviews.alias()
    query = select(func.max(latest.c.review_id)).where(latest.c.claim_id == claims.c.claim_id)
    return query.correlate(claims).scalar_subquery()
