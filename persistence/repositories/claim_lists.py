"""Lists of claims for people: narrowed down, counted, ordered, page by page from where the last one ended."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from domain.decision import Cause
from domain.payer_status import PayerState
from domain.reviews import ReviewReason
from persistence.database.dialect import among
from persistence.repositories.claims import ClaimRow, read_claim
from persistence.repositories.overview import latest_category, latest_cause, latest_team
from persistence.tables import claims, payer_status, payer_waits
from persistence.tables.claims import IS_OPEN

FOUND_MOST = 200


class ListedState(StrEnum):
    """Where claims stand, as people ask for them."""

    RECEIVED = "received"
    SENDING = "sending"
    WAITING = "waiting"
    QUEUED = "queued"
    HELD = "held"
    STOPPED = "stopped"
    INCIDENT = "incident"
    REVIEW = "review"
    ACCEPTED = "accepted"
    CANCELLED = "cancelled"
    WRITTEN_OFF = "written_off"


class ListOrder(StrEnum):
    """What comes first."""

    NEWEST = "newest"
    DEADLINE = "deadline"


@dataclass(frozen=True, slots=True)
class ClaimFilter:
    """Which claims; None does not narrow. `text` is a claim's id, or the number of its batch or protocol.

    `team` and `reason` are of claims in review, `category` of those in `state`, or in review without one.
    """

    state: ListedState | None = None
    payer_id: str | None = None
    team: str | None = None
    reason: str | None = None
    category: str | None = None
    due_before: datetime | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ListPlace:
    """Where a page ended; by deadline, whether among those that have none or have ended."""

    moment: datetime
    claim_id: str
    is_rest: bool = False


@dataclass(frozen=True, slots=True)
class AskedPage:
    """One page of a list: what comes first, after which place, how many."""

    order: ListOrder
    limit: int
    after: ListPlace | None = None


def _held(*states: PayerState) -> ColumnElement[bool]:
    """Whether a claim waits for its payer, while that is in one of these states."""
    waits = select(payer_waits.c.claim_id).where(payer_waits.c.claim_id == claims.c.claim_id)
    if states:
        waits = waits.join(payer_status, payer_status.c.payer_id == payer_waits.c.payer_id)
        waits = waits.where(payer_status.c.state.in_([state.value for state in states]))
    return waits.correlate(claims).exists()


_UNAVAILABLE = (PayerState.OPEN, PayerState.HALF_OPEN, PayerState.PAUSED)
_NO_INCIDENT = claims.c.incident.is_(None)
_WAITING = and_(claims.c.state == ClaimState.WAITING, _NO_INCIDENT)
_HAS_TIME = and_(IS_OPEN, claims.c.deadline.is_not(None))
_IN_STATE: dict[ListedState, ColumnElement[bool]] = {
    ListedState.RECEIVED: and_(claims.c.state == ClaimState.RECEIVED, _NO_INCIDENT),
    ListedState.SENDING: and_(claims.c.state.in_([ClaimState.SUBMITTING, ClaimState.FAILED]), _NO_INCIDENT),
    ListedState.WAITING: and_(_WAITING, ~_held()),
    ListedState.QUEUED: and_(_WAITING, _held(PayerState.CLOSED)),
    ListedState.HELD: and_(_WAITING, _held(*_UNAVAILABLE)),
    ListedState.STOPPED: and_(_WAITING, _held(PayerState.STOPPED)),
    ListedState.INCIDENT: claims.c.incident.is_not(None),
    ListedState.REVIEW: and_(claims.c.state == ClaimState.IN_REVIEW, _NO_INCIDENT),
    ListedState.ACCEPTED: claims.c.state == ClaimState.ACCEPTED,
    ListedState.CANCELLED: claims.c.state == ClaimState.CANCELLED,
    ListedState.WRITTEN_OFF: claims.c.state == ClaimState.WRITTEN_OFF,
}


class ClaimLists:
    """Reads lists."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def page(self, wanted: ClaimFilter, asked: AskedPage) -> Sequence[ClaimRow]:
        """One page, in order."""
        which = select(claims).where(*await self._which(wanted))
        if asked.order is ListOrder.NEWEST:
            return await self._newest(which, asked)
        if asked.after and asked.after.is_rest:
            return await self._newest(which.where(~_HAS_TIME), asked)
        found = await self._nearest(which.where(_HAS_TIME), asked)
        room = 0 if wanted.due_before else asked.limit - len(found)  # none of the rest is due
        if room > 0:
            found += await self._newest(which.where(~_HAS_TIME), AskedPage(asked.order, room))
        return found

    async def _newest(self, which: Select[Any], asked: AskedPage) -> list[ClaimRow]:
        query = which.order_by(claims.c.created_at.desc(), claims.c.claim_id).limit(asked.limit)
        if asked.after:
            query = query.where(_after(asked.after, by_deadline=False))
        return [read_claim(row) for row in await self._connection.execute(query)]

    async def _nearest(self, which: Select[Any], asked: AskedPage) -> list[ClaimRow]:
        query = which.order_by(claims.c.deadline, claims.c.claim_id).limit(asked.limit)
        if asked.after:
            query = query.where(_after(asked.after, by_deadline=True))
        return [read_claim(row) for row in await self._connection.execute(query)]

    async def count(self, wanted: ClaimFilter, most: int) -> int:
        """How many there are, counted no further than `most`."""
        query: Select[tuple[str]] = select(claims.c.claim_id).where(*await self._which(wanted)).limit(most)
        counted = select(func.count()).select_from(query.subquery())
        return await self._connection.scalar(counted) or 0

    async def _which(self, wanted: ClaimFilter) -> Sequence[ColumnElement[bool]]:
        found = [*_conditions(wanted)]
        if wanted.text:
            found.append(among(self._connection, claims.c.claim_id, await self._found(wanted.text)))
        return found

    async def _found(self, text: str) -> Sequence[str]:
        """Whose id, batch or protocol the text is, each by its own index."""
        same = (claims.c.claim_id == text, claims.c.batch_number == text, claims.c.protocol_number == text)
        parts = (select(select(claims.c.claim_id).where(one).limit(FOUND_MOST).subquery()) for one in same)
        return [*(await self._connection.scalars(union_all(*parts))).all()]


def _conditions(wanted: ClaimFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.state:
        yield _IN_STATE[wanted.state]
    if wanted.payer_id:
        yield claims.c.payer_id == wanted.payer_id
    if wanted.team or wanted.reason or (wanted.category and wanted.state is None):
        yield claims.c.state == ClaimState.IN_REVIEW
    if wanted.reason:
        yield claims.c.reason == wanted.reason
    if wanted.team:
        yield latest_team() == wanted.team
    yield from _of_category(wanted)
    if wanted.due_before:
        yield and_(IS_OPEN, claims.c.deadline < wanted.due_before)


def _of_category(wanted: ClaimFilter) -> Iterator[ColumnElement[bool]]:
    """A kind of refusal; of spent retries, whether their deadline has ended them."""
    if wanted.reason == ReviewReason.MAX_RETRIES_EXCEEDED:
        ended = latest_cause() == Cause.DEADLINE
        yield ended if wanted.category == Cause.DEADLINE else func.coalesce(~ended, True)
    elif wanted.category:
        yield latest_category() == wanted.category


def _after(place: ListPlace, *, by_deadline: bool) -> ColumnElement[bool]:
    """What comes after a place, spelled out: the two columns may run in different directions."""
    column = claims.c.deadline if by_deadline else claims.c.created_at
    further = column > place.moment if by_deadline else column < place.moment
    return or_(further, and_(column == place.moment, claims.c.claim_id > place.claim_id))
