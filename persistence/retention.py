"""Removes records past their period, in bounded batches; claims on legal hold are never touched."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from sqlalchemy import (
    Column,
    ColumnElement,
    Delete,
    Select,
    Table,
    delete,
    false,
    func,
    insert,
    null,
    select,
    tuple_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from domain.mail.mail import MailState
from domain.retention import Periods, RecordKind
from persistence.audit.anchors import BEFORE_ALL_DAYS, span
from persistence.database.dialect import insert_into
from persistence.tables import (
    audit_anchors,
    audit_events,
    audit_permits,
    bulk_items,
    claim_events,
    claim_guides,
    claim_payloads,
    claim_texts,
    claims,
    error_statistics,
    first_rounds,
    legal_holds,
    mails,
    notices,
    operator_orders,
    outbox,
    retry_decisions,
    review_assignees,
    reviews,
    submission_attempts,
)

MAIL_IS_OVER = (mails.c.state == MailState.SENT) | mails.c.dead_lettered_at.is_not(None)
"""A failed mail that found the dead letters full is nowhere else: it goes when it has had its place there."""


@dataclass(frozen=True, slots=True)
class Area:
    """Rows of one table that share a period; `also` narrows them down."""

    name: str
    kind: RecordKind
    table: Table
    moment: Column[datetime]
    also: ColumnElement[bool] | None = None

    def due(self, cutoff: datetime) -> ColumnElement[bool]:
        """The rows that are old enough and not on hold."""
        held = select(legal_holds.c.claim_id)
        old = (self.moment < cutoff) & self.table.c.claim_id.not_in(held)
        return old if self.also is None else old & self.also

    def batch(self, cutoff: datetime, limit: int) -> Select[tuple[object, ...]]:
        """The keys of the oldest rows that are due."""
        return (
            select(*self.table.primary_key.columns).where(self.due(cutoff)).order_by(self.moment).limit(limit)
        )


FINAL = tuple(state.value for state in ClaimState if state.is_final)


def has_ended(table: Table) -> ColumnElement[bool]:
    """Whether a row's claim has; one that is not known here has."""
    state = select(claims.c.state).where(claims.c.claim_id == table.c.claim_id).scalar_subquery()
    return func.coalesce(state, FINAL[0]).in_(FINAL)  # asked row by row: joined, all claims would be read


PAYLOADS = Area(
    "payloads of sends",
    RecordKind.PAYLOAD,
    submission_attempts,
    submission_attempts.c.started_at,
    submission_attempts.c.result.is_not(null()) & has_ended(submission_attempts),
)
"""Of an open claim they stay, like its sends and reviews: they may prove that its payer has it."""
AUDIT = Area("audit events", RecordKind.LOG, audit_events, audit_events.c.at)
DECISIONS = Area("decisions", RecordKind.LOG, retry_decisions, retry_decisions.c.decided_at)
CLAIMS = Area("claims", RecordKind.HISTORY, claims, claims.c.updated_at, claims.c.state.in_(FINAL))
AREAS = (
    PAYLOADS,
    Area(
        "files of claims",
        RecordKind.PAYLOAD,
        claim_payloads,
        claim_payloads.c.stored_at,
        has_ended(claim_payloads),
    ),
    Area("words of payers and models", RecordKind.FREE_TEXT, claim_texts, claim_texts.c.noted_at),
    DECISIONS,
    Area("first rounds of claims", RecordKind.LOG, first_rounds, first_rounds.c.first_failed_at),
    AUDIT,
    Area("journal entries", RecordKind.LOG, claim_events, claim_events.c.at),
    Area(
        "sends",
        RecordKind.HISTORY,
        submission_attempts,
        submission_attempts.c.started_at,
        has_ended(submission_attempts),
    ),
    Area("reviews", RecordKind.HISTORY, reviews, reviews.c.opened_at, has_ended(reviews)),
    Area("notices", RecordKind.HISTORY, notices, notices.c.recorded_at),
    Area("mails", RecordKind.PAYLOAD, mails, mails.c.enqueued_at, MAIL_IS_OVER),
    Area("operators' orders", RecordKind.LOG, operator_orders, operator_orders.c.at),
    Area("claims of orders about many", RecordKind.LOG, bulk_items, bulk_items.c.due_at),
    Area("who has which review", RecordKind.LOG, review_assignees, review_assignees.c.assigned_at),
    CLAIMS,
    Area("published events", RecordKind.PUBLISHED, outbox, outbox.c.published_at),
)
ERROR_COUNTS = "error counts"


def cutoff(area: Area, periods: Periods, now: datetime) -> datetime:
    """Before which moment an area's rows go; the audit trail goes by whole days."""
    moment = periods.cutoff(area.kind, now)
    return span(moment.astimezone(UTC).date())[0] if area is AUDIT else moment


class ExpiredRecords:
    """Counts and removes what is past its period."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def count(self, periods: Periods, *, now: datetime) -> Mapping[str, int]:
        """How many rows of each area would go now."""
        numbers: dict[str, int] = {}
        for area in AREAS:
            query = select(func.count()).select_from(area.table).where(area.due(cutoff(area, periods, now)))
            numbers[area.name] = await self._connection.scalar(query) or 0
        forgotten = select(func.count()).select_from(error_statistics).where(_forgettable(periods, now))
        return numbers | {ERROR_COUNTS: await self._connection.scalar(forgotten) or 0}

    async def remove(self, area: Area, periods: Periods, *, now: datetime, limit: int) -> int:
        """Remove one batch of an area; fewer than the limit means that it is done."""
        moment = cutoff(area, periods, now)
        if area is PAYLOADS:
            return await self._empty(moment, limit)
        if area is AUDIT:
            return await self._prune(moment, now, limit)
        if area is DECISIONS:
            return await self._count_and_delete(moment, limit)
        if area is CLAIMS:
            return await self._delete_with_guides(moment, limit)
        return await self._delete(area, moment, limit)

    async def forget_statistics(self, periods: Periods, *, now: datetime) -> int:
        """Remove error counts past their period, if they have one."""
        done = await self._connection.execute(delete(error_statistics).where(_forgettable(periods, now)))
        return done.rowcount

    async def statistics(self) -> Sequence[tuple[date, str, str, int]]:
        """Errors counted per day, class and category."""
        query = select(error_statistics).order_by(*error_statistics.primary_key.columns)
        return [
            (row.day, row.error_classification, row.error_category, row.decisions)
            for row in await self._connection.execute(query)
        ]

    async def _delete(self, area: Area, moment: datetime, limit: int) -> int:
        return (await self._connection.execute(_deletion(area, moment, limit))).rowcount

    async def _delete_with_guides(self, moment: datetime, limit: int) -> int:
        gone = _deletion(CLAIMS, moment, limit).returning(claims.c.claim_id)
        removed = (await self._connection.execute(gone)).scalars().all()
        if removed:
            await self._connection.execute(delete(claim_guides).where(claim_guides.c.claim_id.in_(removed)))
        return len(removed)

    async def _empty(self, moment: datetime, limit: int) -> int:
        keys = tuple_(*submission_attempts.primary_key.columns)
        emptied = update(submission_attempts).where(keys.in_(PAYLOADS.batch(moment, limit)))
        return (await self._connection.execute(emptied.values(result=None))).rowcount

    async def _prune(self, moment: datetime, now: datetime, limit: int) -> int:
        """Remove events of anchored days only; their anchors say since when they are gone."""
        permits = [{"permit": "audit_events:DELETE"}, {"permit": "audit_anchors:UPDATE"}]
        await self._connection.execute(insert(audit_permits), permits)
        days = audit_anchors.c.day
        old = (days < moment.date()) & (days > BEFORE_ALL_DAYS) & audit_anchors.c.pruned_at.is_(None)
        await self._connection.execute(update(audit_anchors).where(old).values(pruned_at=now))
        pruned = select(audit_anchors.c.day, audit_anchors.c.last_event).where(
            audit_anchors.c.pruned_at.is_not(None)
        )
        last = (
            await self._connection.execute(pruned.order_by(audit_anchors.c.day.desc()).limit(1))
        ).one_or_none()
        removed = await self._delete(_held_by(last.last_event), span(last.day)[1], limit) if last else 0
        await self._connection.execute(delete(audit_permits))
        return removed

    async def _count_and_delete(self, moment: datetime, limit: int) -> int:
        """Keep what the decisions teach about errors, without their claims."""
        columns = retry_decisions.c
        gone = _deletion(DECISIONS, moment, limit).returning(
            columns.decided_at, columns.error_classification, columns.error_category
        )
        rows = await self._connection.execute(gone)
        numbers = Counter((at.astimezone(UTC).date(), kind, category) for at, kind, category in rows)
        if numbers:
            await self._add_counts(numbers)
        return numbers.total()

    async def _add_counts(self, numbers: Mapping[tuple[date, str, str], int]) -> None:
        columns = "day", "error_classification", "error_category"
        rows = [dict(zip(columns, key, strict=True)) | {"decisions": n} for key, n in numbers.items()]
        statement = insert_into(self._connection, error_statistics)
        added = error_statistics.c.decisions + statement.excluded.decisions
        await self._connection.execute(
            statement.on_conflict_do_update(index_elements=list(columns), set_={"decisions": added}), rows
        )


def _held_by(last_event: int | None) -> Area:
    """The audit events that pruned anchors hold; those of earlier versions held all of their days."""
    return AUDIT if last_event is None else replace(AUDIT, also=audit_events.c.event_id <= last_event)


def _forgettable(periods: Periods, now: datetime) -> ColumnElement[bool]:
    if periods.error_analysis is None:
        return false()
    return error_statistics.c.day < (now - periods.error_analysis).astimezone(UTC).date()


def _deletion(area: Area, moment: datetime, limit: int) -> Delete:
    keys = tuple_(*area.table.primary_key.columns)
    return delete(area.table).where(keys.in_(area.batch(moment, limit)))
