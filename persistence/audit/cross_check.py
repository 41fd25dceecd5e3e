"""Other records of what was done: by them events are missed whose removal left the audit trail whole."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import get_args

from sqlalchemy import Column, ColumnElement, Select, Table, func, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ENDS
from domain.events import DomainEvent
from persistence.audit.notes import NOTED
from persistence.audit.trail import DECIDED
from persistence.repositories.attempts import SENDING
from persistence.repositories.journal import GIVEN_UP, RETRY_SCHEDULED
from persistence.tables import audit_events, claim_events, claims, outbox, submission_attempts

NAME = '"event":"'
NAME_CHARACTERS = 100
PUBLISHED = tuple(event.__name__ for event in get_args(DomainEvent))


async def missed_deeds(connection: AsyncConnection, since: datetime) -> AsyncIterator[tuple[str, str, int]]:
    """Claims, what happened to them, and how often more than their trails tell since then."""
    missed: dict[tuple[str, str], int] = {}
    for elsewhere in (_journal(since), _sends(since), _ends(since)):
        for claim_id, name, number in await connection.execute(_untold(connection, elsewhere, since)):
            missed[claim_id, name] = max(number, missed.get((claim_id, name), 0))
    for claim_id, name in sorted(missed):
        yield claim_id, name, missed[claim_id, name]


Deeds = Select[str, str, int]


def _journal(since: datetime) -> Deeds:
    """Lines of the journal but those of decisions, which are counted below."""
    columns = claim_events.c
    kinds = columns.event.not_in((RETRY_SCHEDULED, GIVEN_UP))
    query = select(columns.claim_id, columns.event.label("name"), func.count().label("number"))
    return query.where(columns.at >= since, kinds).group_by(columns.claim_id, columns.event)


def _sends(since: datetime) -> Deeds:
    columns = submission_attempts.c
    query = select(columns.claim_id, literal(SENDING).label("name"), func.count().label("number"))
    return query.where(columns.started_at >= since).group_by(columns.claim_id)


def _ends(since: datetime) -> Deeds:
    """Claims that came in since then and have ended: the end bears the name of their state."""
    columns = claims.c
    name = func.lower(columns.state).label("name")
    ended = columns.state.in_([state.value for state in ENDS])
    return select(columns.claim_id, name, literal(1).label("number")).where(
        columns.created_at >= since, ended
    )


def _untold(connection: AsyncConnection, elsewhere: Deeds, since: datetime) -> Deeds:
    other, name = elsewhere.subquery("other"), _name(connection).label("name")
    noted = (
        select(audit_events.c.claim_id, name, func.count().label("number"))
        .where(audit_events.c.at >= since, audit_events.c.event == NOTED)
        .group_by(audit_events.c.claim_id, name)
        .subquery("noted")
    )
    more = other.c.number - func.coalesce(noted.c.number, 0)
    same = (other.c.claim_id == noted.c.claim_id) & (other.c.name == noted.c.name)
    return select(other.c.claim_id, other.c.name, more).outerjoin_from(other, noted, same).where(more > 0)


def _name(connection: AsyncConnection) -> ColumnElement[str]:
    """What a note is called, cut out of its data, which nobody has to be able to read as JSON."""
    position = func.strpos if connection.dialect.name == "postgresql" else func.instr
    data = audit_events.c.data
    begins = func.substr(data, position(data, NAME) + len(NAME), NAME_CHARACTERS)
    return func.substr(begins, 1, position(begins, '"') - 1)


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
