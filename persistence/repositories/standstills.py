"""What is past its time by its own row, and what of that was found to stand still."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Column, ColumnElement, Row, delete, exists, func, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from domain.mail.mail import MAIL_LIFE, MailState
from domain.standing import HeldJob, JobPlace, Late, StandingKind, Standstill
from persistence.database.dialect import among, insert_into
from persistence.database.rows import row_of
from persistence.repositories.claims import JOB_COLUMNS, job_columns
from persistence.tables import claims, mails, standing_still

IN_A_JOB = (ClaimState.SUBMITTING, ClaimState.FAILED)
ENDED_BY_PEOPLE = (ClaimState.CANCELLED, ClaimState.WRITTEN_OFF)
CLAIM_KINDS = (StandingKind.WAIT, StandingKind.JOB)
MAIL_WAITS = timedelta(minutes=10)
"""Longer than any wait between two attempts to send a mail."""


@dataclass(frozen=True, slots=True)
class LatePage:
    """A page of what is late: of which kind, before which moment, after which of them, how many."""

    kind: StandingKind
    before: datetime
    after: Late | None = None
    limit: int = 500


@dataclass(frozen=True, slots=True)
class Gone:
    """What is late no more; `moved` says that its own row went on, and that no person ended it."""

    still: Standstill
    moved: bool


@dataclass(frozen=True, slots=True)
class RestingJob:
    """A job of a claim's process that is put off, until the end of its backoff."""

    claim_id: str
    process_instance_key: int
    job: HeldJob


class Standstills:
    """Looks for what is late, and keeps what was found; a claim on an incident waits for a person."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def late(self, page: LatePage) -> Sequence[Late]:
        """What should have moved before a moment of the engine's clock, the longest late first."""
        kind = _KINDS[page.kind]
        query = select(kind.subject.label("subject"), kind.since.label("since"), *kind.job)
        query = query.where(kind.is_late(page.before)).order_by(kind.since, kind.subject).limit(page.limit)
        if page.after is not None:
            query = query.where(_follows(kind, page.after))
        rows = await self._connection.execute(query)
        return [Late(page.kind, row.subject, row.since, _job(row, page.before)) for row in rows]

    async def rests(self, resting: RestingJob) -> None:
        """Note a job that is put off, in the row of its own process's claim; keys of one process grow."""
        job, known = resting.job, claims.c
        mine = (known.claim_id == resting.claim_id) & known.state.in_((*IN_A_JOB, ClaimState.WAITING))
        own = (known.process_instance_key == resting.process_instance_key) & known.incident.is_(None)
        newest = or_(known.job_key.is_(None), known.job_key <= job.key)
        values = job_columns(job) | {"job_rests_until": job.until}
        await self._connection.execute(update(claims).where(mine, own, newest).values(values))

    async def last_move(self, since: datetime) -> datetime | None:
        """When a claim was last worked on, or a mail left, if any was since a moment."""
        moved_since = (claims.c.state != ClaimState.RECEIVED) & (claims.c.updated_at > since)
        worked_on = select(claims.c.updated_at).where(moved_since)
        moved = await self._connection.scalar(worked_on.order_by(claims.c.updated_at.desc()).limit(1))
        left = select(func.max(mails.c.sent_at)).where(mails.c.enqueued_at > since - MAIL_LIFE)
        moments = [moment for moment in (moved, await self._connection.scalar(left)) if moment]
        return max(moments, default=None)

    async def quiet_since(self) -> datetime | None:
        """The earliest moment at which something that is known was seen, or last nudged."""
        return await self._connection.scalar(
            select(func.min(func.coalesce(standing_still.c.nudged_at, standing_still.c.seen_at)))
        )

    async def lock(self, kind: StandingKind, subjects: Collection[str]) -> Mapping[str, Standstill]:
        """What is known of these, ours alone until the transaction ends."""
        mine = among(self._connection, standing_still.c.subject, subjects)
        query = select(standing_still).where(standing_still.c.kind == kind, mine)
        rows = await self._connection.execute(query.order_by(standing_still.c.subject).with_for_update())
        return {row.subject: _read(row) for row in rows}

    async def gone(self, before: datetime, limit: int) -> Sequence[Gone]:
        """Some of those that are late no more, or since another moment, ours alone."""
        found: list[Gone] = []
        for kind, rows in _KINDS.items():
            same = rows.subject == standing_still.c.subject
            stays = exists().where(same, rows.since == standing_still.c.since, rows.is_late(before))
            moved = exists().where(same, rows.has_moved).label("moved")
            query = select(standing_still, moved).where(standing_still.c.kind == kind, ~stays)
            gone = await self._connection.execute(query.limit(limit).with_for_update(of=standing_still))
            found.extend(Gone(_read(row), bool(row.moved)) for row in gone)
        return found

    async def keep(self, found: Iterable[Standstill]) -> None:
        """Write down what was found, in the place of what was known of it."""
        new = insert_into(self._connection, standing_still)
        keys = standing_still.primary_key.columns
        changes = {one.key: new.excluded[one.key] for one in standing_still.c if one.key not in keys}
        if rows := [row_of(one) for one in found]:
            await self._connection.execute(
                new.on_conflict_do_update(index_elements=list(keys), set_=changes), rows
            )

    async def nudged(self, taken: Collection[Standstill], at: datetime) -> None:
        """The engine took these nudges; who has gone on by now is not brought back."""
        if taken:
            known, keys = standing_still.c, [one.key for one in taken]
            mine = tuple_(known.kind, known.subject).in_(keys) & (known.nudged_at == at)
            await self._connection.execute(update(standing_still).where(mine).values(nudges=known.nudges + 1))

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


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows in which one kind is found: whose it is, since when, and when it is late or has moved."""

    subject: Column[str]
    since: Column[datetime]
    is_late: Callable[[datetime], ColumnElement[bool]]
    has_moved: ColumnElement[bool]
    rests: ColumnElement[bool]

    @property
    def job(self) -> Sequence[ColumnElement[Any]]:
        """The job that last wrote about each, and whether a backoff of ours is on record for it."""
        return [*(self.subject.table.c[name] for name in JOB_COLUMNS), self.rests.label("rests")]


def _waits(before: datetime) -> ColumnElement[bool]:
    past = (claims.c.state == ClaimState.WAITING) & (claims.c.next_retry_time < before)
    return past & claims.c.incident.is_(None)


def _jobs(before: datetime) -> ColumnElement[bool]:
    mine = claims.c.state.in_(IN_A_JOB) & claims.c.incident.is_(None)
    return mine & (claims.c.job_until < before)


def _mails(before: datetime) -> ColumnElement[bool]:
    """Those that are being sent, should have been tried again, or were set back by a limit until a moment.

    One in its queue is not late yet. One whose day is over dies by the look that finds lost mail.
    """
    failed_at = mails.c.last_failure_at
    tried = or_(mails.c.sending_until.is_not(None), failed_at.is_(None), failed_at < before - MAIL_WAITS)
    alive = (mails.c.state == MailState.PENDING) & (mails.c.expires_at > before)
    return alive & (mails.c.job_until < before) & tried


def _left(states: Collection[ClaimState], since: Column[datetime]) -> ColumnElement[bool]:
    """Whether a claim is in none of the states any more, or in one anew; no person ended it."""
    anew = since.is_distinct_from(standing_still.c.since)
    return claims.c.state.not_in(ENDED_BY_PEOPLE) & or_(claims.c.state.not_in(states), anew)


_PUT_OFF = claims.c.job_rests_until == claims.c.job_until
_NOT_BEING_SENT = mails.c.sending_until.is_(None)
"""A mail's wait is written down in the commit that ends its attempt."""
_KINDS: Mapping[StandingKind, _Rows] = {
    StandingKind.WAIT: _Rows(
        claims.c.claim_id,
        claims.c.next_retry_time,
        _waits,
        _left((ClaimState.WAITING,), claims.c.next_retry_time),
        _PUT_OFF,
    ),
    StandingKind.JOB: _Rows(
        claims.c.claim_id, claims.c.job_until, _jobs, _left(IN_A_JOB, claims.c.job_until), _PUT_OFF
    ),
    StandingKind.MAIL: _Rows(
        mails.c.outbox_id,
        mails.c.job_until,
        _mails,
        or_(mails.c.state == MailState.SENT, mails.c.job_until.is_distinct_from(standing_still.c.since)),
        _NOT_BEING_SENT,
    ),
}


def _follows(kind: _Rows, place: Late) -> ColumnElement[bool]:
    later = kind.since > place.since
    same = (kind.since == place.since) & (kind.subject > place.subject)
    return (kind.since >= place.since) & (later | same)


def _job(row: Any, before: datetime) -> HeldJob | None:
    """The job in hand, if its lock ended so long ago."""
    if row.job_key is None or row.job_until is None or row.job_until >= before:
        return None
    place = JobPlace.read(row.job_place) if row.job_place else None
    return HeldJob(row.job_key, row.job_retries, row.job_until, place, rests=bool(row.rests))


def _read(row: Row[Any]) -> Standstill:
    fields = {name: row._mapping[name] for name in Standstill.__dataclass_fields__}
    return Standstill(**(fields | {"kind": StandingKind(row.kind)}))
