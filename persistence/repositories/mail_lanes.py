"""Whose lane is whose: a company keeps a lane to itself while its mail may wait there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.mail.lanes import HELD_FOR, TOUCHED_EVERY, all_lanes, lane_of, lanes_by_choice
from domain.mail.mail import MailState
from persistence.database.dialect import insert_into
from persistence.tables import mail_lanes, mails


@dataclass(frozen=True, slots=True)
class KnownLane:
    """A lane that was ever taken: who holds it, and since when its oldest mail waits, if any does."""

    lane: str
    company_id: str
    waits_since: datetime | None


class MailLanes:
    """Lanes by name; there are never more rows than lanes."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def assign(self, company_id: str, lanes: int, *, now: datetime) -> str:
        """The company's lane for a mail that is queued now: its own, a free one, or its home with others."""
        own = select(mail_lanes).where(mail_lanes.c.company_id == company_id)
        for row in (await self._connection.execute(own.order_by(mail_lanes.c.lane))).all():
            if row.lane in all_lanes(lanes) and await self._kept(row.lane, company_id, row.used_at, now):
                return str(row.lane)
        held = await self._held(now)
        for lane in lanes_by_choice(company_id, lanes):
            if lane not in held and await self._take(lane, company_id, now):
                return lane
        return lane_of(company_id, lanes)

    async def known(self) -> Sequence[KnownLane]:
        """Every lane that was ever taken; mail that waits for its next attempt waits, too."""
        oldest = (
            select(func.min(mails.c.enqueued_at))
            .where(mails.c.lane == mail_lanes.c.lane, mails.c.state == MailState.PENDING)
            .scalar_subquery()
        )
        rows = await self._connection.execute(select(mail_lanes.c.lane, mail_lanes.c.company_id, oldest))
        return [KnownLane(*row) for row in rows]

    async def sharers(self) -> Mapping[str, Sequence[str]]:
        """Whose mail waits in each lane, the longest waiting first."""
        since = func.min(mails.c.enqueued_at)
        query = select(mails.c.lane, mails.c.company_id).where(mails.c.state == MailState.PENDING)
        rows = await self._connection.execute(
            query.group_by(mails.c.lane, mails.c.company_id).order_by(since)
        )
        found: dict[str, list[str]] = {}
        for row in rows:
            found.setdefault(row.lane, []).append(row.company_id)
        return found

    async def _kept(self, lane: str, company_id: str, used_at: datetime, now: datetime) -> bool:
        """Whether the lane is still the company's, which it is when its use could be written down."""
        if abs(now - used_at) < TOUCHED_EVERY:
            return True
        mine = (mail_lanes.c.lane == lane) & (mail_lanes.c.company_id == company_id)
        return (
            await self._connection.execute(update(mail_lanes).where(mine).values(used_at=now))
        ).rowcount == 1

    async def _held(self, now: datetime) -> frozenset[str]:
        query = select(mail_lanes.c.lane).where(~_is_free(now))
        return frozenset((await self._connection.execute(query)).scalars())

    async def _take(self, lane: str, company_id: str, now: datetime) -> bool:
        """Take a lane that nobody holds; False when somebody was faster."""
        new = insert_into(self._connection, mail_lanes).values(lane=lane, company_id=company_id, used_at=now)
        taken = new.on_conflict_do_update(
            index_elements=[mail_lanes.c.lane],
            set_={"company_id": company_id, "used_at": now},
            where=_is_free(now),
        )
        found = await self._connection.execute(taken.returning(mail_lanes.c.company_id))
        return bool(found.scalar_one_or_none() == company_id)


def _is_free(now: datetime) -> ColumnElement[bool]:
    """Nobody has used the lane for long; a use that lies further ahead was noted by a wrong clock."""
    return (mail_lanes.c.used_at <= now - HELD_FOR) | (mail_lanes.c.used_at > now + HELD_FOR)
