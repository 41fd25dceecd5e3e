"""What is past its time by its own row, and what of that was found to stand still."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, func, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from domain.mail.mail import MAIL_LIFE, MailState
from domain.standing import HeldJob, Late, StandingKind, Standstill
from persistence.database.dialect import among, insert_into
from persistence.database.rows import row_of
from persistence.tables import claims, mails, standing_still

IN_A_JOB = (ClaimState.SUBMITTING, ClaimState.FAILED)
CLAIM_KINDS = (StandingKind.WAIT, StandingKind.JOB)
MAIL_WAITS = timedelta(minutes=10)
"""Longer than any wait between two attempts to send a mail."""


class Standstills:
    """Looks for what is late, and keeps what was found; a claim on an incident waits for a person."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def late(self, before: datetime, limit: int) -> Sequence[Late]:
        """What should have moved before a moment of the engine's clock, the longest late first, each kind."""
        return [
            *await self._waits(before, limit),
            *await self._jobs(before, limit),
            *await self._mails(before, limit),
        ]

    async def _waits(self, before: datetime, limit: int) -> Sequence[Late]:
        due = claims.c.next_retry_time
        past = (claims.c.state == ClaimState.WAITING) & (due < before) & claims.c.incident.is_(None)
        query = select(claims).where(past).order_by(due).limit(limit)
        return [
            Late(StandingKind.WAIT, row.claim_id, row.next_retry_time, _job(row, before))
            for row in await self._connection.execute(query)
        ]

    async def _jobs(self, before: datetime, limit: int) -> Sequence[Late]:
        mine = claims.c.state.in_(IN_A_JOB) & claims.c.incident.is_(None)
        query = select(claims).where(mine, claims.c.job_until < before).order_by(claims.c.job_until)
        return [
            Late(StandingKind.JOB, row.claim_id, row.job_until, _job(row, before))
            for row in await self._connection.execute(query.limit(limit))
        ]

    async def _mails(self, before: datetime, limit: int) -> Sequence[Late]:
        """Those that are being sent, or should have been tried again; one in its queue is not late yet.

        One whose day is over dies by the look that finds lost mail.
        """
        tried = or_(mails.c.sending_until.is_not(None), mails.c.last_failure_at < before - MAIL_WAITS)
        alive = (mails.c.state == MailState.PENDING) & (mails.c.expires_at > before)
        late = alive & (mails.c.job_until < before) & tried
        query = select(mails).where(late).order_by(mails.c.job_until).limit(limit)
        return [
            Late(StandingKind.MAIL, row.outbox_id, row.job_until, _job(row, before))
            for row in await self._connection.execute(query)
        ]

    async def last_move(self, since: datetime) -> datetime | None:
        """When a claim was last worked on, or a mail left, if any was since a moment."""
        moved_since = (claims.c.state != ClaimState.RECEIVED) & (claims.c.updated_at > since)
        worked_on = select(claims.c.updated_at).where(moved_since)
        moved = await self._connection.scalar(worked_on.order_by(claims.c.updated_at.desc()).limit(1))
        left = select(func.max(mails.c.sent_at)).where(mails.c.enqueued_at > since - MAIL_LIFE)
        moments = [moment for moment in (moved, await self._connection.scalar(left)) if moment]
        return max(moments, default=None)

    async def lock_all(self) -> Mapping[tuple[StandingKind, str], Standstill]:
        """All that was found so far, ours alone until the transaction ends."""
        keys = standing_still.primary_key.columns
        query = select(standing_still).where(_READABLE).order_by(*keys).with_for_update()
        found = [_read(row) for row in await self._connection.execute(query)]
        return {one.key: one for one in found}

    async def keep(self, found: Iterable[Standstill]) -> None:
        """Write down what was found, in the place of what was known of it."""
        new = insert_into(self._connection, standing_still)
        keys = standing_still.primary_key.columns
        changes = {one.name: new.excluded[one.name] for one in standing_still.c if one.name not in keys}
        if rows := [row_of(one) for one in found]:
            await self._connection.execute(
                new.on_conflict_do_update(index_elements=list(keys), set_=changes), rows
            )

    async def forget(self, gone: Collection[tuple[StandingKind, str]]) -> None:
        """They have gone on."""
        if gone:
            these = tuple_(standing_still.c.kind, standing_still.c.subject).in_(gone)
            await self._connection.execute(delete(standing_still).where(these))

    async def of_claims(self, claim_ids: Collection[str]) -> Mapping[str, Standstill]:
        """Those of the claims that stand still."""
        mine = among(self._connection, standing_still.c.subject, claim_ids)
        query = select(standing_still).where(mine, standing_still.c.kind.in_(CLAIM_KINDS), _CONFIRMED)
        return {row.subject: _read(row) for row in await self._connection.execute(query)}

    async def count(self) -> Mapping[StandingKind, int]:
        """How many stand still, of every kind."""
        kind = standing_still.c.kind
        query = select(kind, func.count()).where(_CONFIRMED, _READABLE).group_by(kind)
        found = {StandingKind(kind): number for kind, number in await self._connection.execute(query)}
        return {kind: found.get(kind, 0) for kind in StandingKind}


_CONFIRMED: ColumnElement[bool] = standing_still.c.confirmed_at.is_not(None)
_READABLE: ColumnElement[bool] = standing_still.c.kind.in_([kind.value for kind in StandingKind])
"""A newer version that ran before may have left kinds that are known to it alone."""


def _job(row: Row[Any], before: datetime) -> HeldJob | None:
    """The job in hand, if its lock ended so long ago."""
    if row.job_key is None or row.job_until is None or row.job_until >= before:
        return None
    return HeldJob(row.job_key, row.job_retries, row.job_until)


def _read(row: Row[Any]) -> Standstill:
    return Standstill(**(dict(row._mapping) | {"kind": StandingKind(row.kind)}))
