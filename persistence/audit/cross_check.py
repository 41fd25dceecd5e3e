"""Other records of decisions: by them those are missed whose removal left the audit trail whole."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import get_args

from sqlalchemy import Column, ColumnElement, Select, Table, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.events import DomainEvent
from persistence.audit.trail import DECIDED
from persistence.repositories.journal import GIVEN_UP, RETRY_SCHEDULED
from persistence.tables import audit_events, claim_events, outbox

PUBLISHED = tuple(event.__name__ for event in get_args(DomainEvent))


async def missed_decisions(connection: AsyncConnection, since: datetime) -> AsyncIterator[tuple[str, int]]:
    """Claims with more decisions recorded elsewhere than in their trails since then, and how many more."""
    missed: dict[str, int] = {}
    for elsewhere in (_noted(since), _published(since)):
        for claim_id, number in await connection.execute(_beyond(elsewhere, since)):
            missed[claim_id] = max(number, missed.get(claim_id, 0))
    for claim_id in sorted(missed):
        yield claim_id, missed[claim_id]


Counted = Select[str, int]


def _noted(since: datetime) -> Counted:
    kinds = claim_events.c.event.in_((RETRY_SCHEDULED, GIVEN_UP))
    return _counted(claim_events, claim_events.c.at, since, kinds)


def _published(since: datetime) -> Counted:
    return _counted(outbox, outbox.c.created_at, since, outbox.c.type.in_(PUBLISHED))


def _counted(table: Table, moment: Column[datetime], since: datetime, which: ColumnElement[bool]) -> Counted:
    number = func.count().label("number")
    return select(table.c.claim_id, number).where(moment >= since, which).group_by(table.c.claim_id)


def _beyond(elsewhere: Counted, since: datetime) -> Counted:
    other = elsewhere.subquery("other")
    decided = _counted(audit_events, audit_events.c.at, since, audit_events.c.event == DECIDED)
    kept = decided.subquery("kept")
    more = other.c.number - func.coalesce(kept.c.number, 0)
    return (
        select(other.c.claim_id, more)
        .outerjoin_from(other, kept, other.c.claim_id == kept.c.claim_id)
        .where(more > 0)
    )
