"""Mail on its way: one row per mail, from the commit that asks for it until retention removes it."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, false, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.mail.alerts import MailBalance
from domain.mail.mail import MAIL_LIFE, Mail, MailContent, MailState, queued_at
from domain.standing import HeldJob
from persistence.database.canonical import canonical
from persistence.database.dialect import among, insert_into
from persistence.database.rows import row_of
from persistence.encryption.cipher import Cipher
from persistence.tables import mails

COLUMNS = tuple(mails.c[name] for name in Mail.__dataclass_fields__)
NOT_STARTED = (mails.c.state == MailState.PENDING) & mails.c.published_at.is_(None)
ONE = select(*COLUMNS).where(mails.c.outbox_id == bindparam("this"))
ONE_LOCKED = ONE.with_for_update()
SAVED = update(mails).where(mails.c.outbox_id == bindparam("this"))
"""Made once: each is asked for every mail."""
NO_ROOM = (mails.c.state == MailState.FAILED) & mails.c.dead_lettered_at.is_(None)


@dataclass(frozen=True, slots=True)
class PendingMails:
    """Mails that are not over, as the runbook asks for them: for their first attempt, in one, for their next.

    `oldest` is when the oldest of them was queued, or queued again.
    """

    wait: int
    active: int
    delayed: int
    oldest: datetime | None


def seal_mail(cipher: Cipher, outbox_id: str, content: MailContent) -> str:
    """A mail's content for storage, tied to the mail; a dead letter keeps it as it is."""
    return cipher.encrypt(canonical(row_of(content)), context=mail_context(outbox_id))


def open_mail(cipher: Cipher, outbox_id: str, sealed: str) -> MailContent:
    """A mail's content from storage, from its own row or from its dead letter's."""
    return MailContent(**json.loads(cipher.decrypt(sealed, context=mail_context(outbox_id))))


def mail_context(outbox_id: str) -> str:
    """What ties a sealed value to its mail."""
    return f"mail {outbox_id}"


class Mails:
    """Mails by their outbox id."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, mail: Mail) -> bool:
        """Queue a mail; False when it was queued before."""
        statement = insert_into(self._connection, mails).values(row_of(mail))
        done = await self._connection.execute(statement.on_conflict_do_nothing())
        return done.rowcount == 1

    async def find(self, outbox_id: str) -> Mail | None:
        """The mail, or None."""
        return await self._one(ONE, outbox_id)

    async def lock(self, outbox_id: str) -> Mail | None:
        """The mail, held until the transaction ends, or None."""
        return await self._one(ONE_LOCKED, outbox_id)

    async def save(self, mail: Mail) -> None:
        """Put a mail in its row's place."""
        values = row_of(mail)
        await self._connection.execute(SAVED, values | {"this": values.pop("outbox_id")})

    async def not_started(self, before: datetime, limit: int) -> Sequence[Mail]:
        """The oldest mails queued before a moment whose process nobody has asked to start."""
        return await self._oldest(NOT_STARTED & (mails.c.enqueued_at < before), mails.c.enqueued_at, limit)

    async def overdue(self, before: datetime, limit: int) -> Sequence[Mail]:
        """The mails that still wait though their time was over before a moment, started or not."""
        over = (mails.c.state == MailState.PENDING) & (mails.c.expires_at < before)
        return await self._oldest(over, mails.c.expires_at, limit)

    async def out_of_hands(self, before: datetime, limit: int) -> Sequence[Mail]:
        """The mails that wait although they were started before a moment, and no job has held them since."""
        waits = (mails.c.state == MailState.PENDING) & (mails.c.expires_at < before + MAIL_LIFE)
        untouched = (mails.c.published_at < before) & or_(
            mails.c.job_until.is_(None), mails.c.job_until < before
        )
        not_sent = or_(mails.c.sending_until.is_(None), mails.c.sending_until < before)
        return await self._oldest(waits & untouched & not_sent, mails.c.expires_at, limit)

    async def started(self, outbox_ids: Collection[str], *, now: datetime) -> None:
        """Remember that the engine has been asked to start the processes of these."""
        these = among(self._connection, mails.c.outbox_id, outbox_ids)
        await self._connection.execute(update(mails).where(these).values(published_at=now))

    async def set_down(self, outbox_id: str, job: HeldJob | None = None) -> None:
        """No job has it in hand any more; this was the last."""
        held = {"job_key": job.key, "job_retries": job.retries, "job_place": job.written_place} if job else {}
        mine = mails.c.outbox_id == outbox_id
        await self._connection.execute(update(mails).where(mine).values(job_until=None, **held))

    async def without_room(self, limit: int) -> Sequence[Mail]:
        """The oldest failed mails that found the dead letters full."""
        return await self._oldest(NO_ROOM, mails.c.last_failure_at, limit)

    async def count_without_room(self) -> int:
        """How many failed mails found the dead letters full."""
        return await self._connection.scalar(select(func.count()).select_from(mails).where(NO_ROOM)) or 0

    async def lock_without_room(self, limit: int) -> Sequence[Mail]:
        """The same, held until the transaction ends; not those that somebody else holds."""
        query = select(*COLUMNS).where(NO_ROOM).order_by(mails.c.last_failure_at).limit(limit)
        rows = await self._connection.execute(query.with_for_update(skip_locked=True))
        return [_read(dict(row._mapping)) for row in rows]

    async def by_state(self) -> Mapping[MailState, int]:
        """How many there are in each state."""
        query = select(mails.c.state, func.count()).group_by(mails.c.state)
        return {MailState(state): number for state, number in await self._connection.execute(query)}

    async def pending(self, now: datetime) -> PendingMails:
        """How the mails stand that are not over; one whose worker died is not active beyond its lease."""
        is_active = func.coalesce(mails.c.sending_until > now, false())
        is_delayed = ~is_active & (mails.c.attempts > 0)
        query = select(
            func.count().filter(~is_active & ~is_delayed),
            func.count().filter(is_active),
            func.count().filter(is_delayed),
            func.min(mails.c.expires_at),
        ).where(mails.c.state == MailState.PENDING)
        wait, active, delayed, expires = (await self._connection.execute(query)).one()
        return PendingMails(wait, active, delayed, queued_at(expires) if expires else None)

    async def ended_since(self, moment: datetime) -> MailBalance:
        """How many have been sent, and how many have failed, since a moment."""
        sent = (mails.c.state == MailState.SENT) & (mails.c.sent_at >= moment)
        failed = (mails.c.state == MailState.FAILED) & (mails.c.last_failure_at >= moment)
        query = select(func.count().filter(sent), func.count().filter(failed)).where(sent | failed)
        return MailBalance(*(await self._connection.execute(query)).one())

    async def states(self, outbox_ids: Collection[str]) -> Mapping[str, MailState]:
        """Where each of these stands; those that are not known are left out."""
        these = among(self._connection, mails.c.outbox_id, outbox_ids)
        query = select(mails.c.outbox_id, mails.c.state).where(these)
        return {found: MailState(state) for found, state in await self._connection.execute(query)}

    async def enqueued(self, outbox_ids: Collection[str]) -> Mapping[str, datetime]:
        """When each of these was first queued; those that are not known are left out."""
        these = among(self._connection, mails.c.outbox_id, outbox_ids)
        query = select(mails.c.outbox_id, mails.c.enqueued_at).where(these)
        return {row.outbox_id: row.enqueued_at for row in await self._connection.execute(query)}

    async def find_all(self, outbox_ids: Collection[str]) -> Mapping[str, Mail]:
        """Those of the mails that are known."""
        these = among(self._connection, mails.c.outbox_id, outbox_ids)
        rows = await self._connection.execute(select(*COLUMNS).where(these))
        return {row.outbox_id: _read(dict(row._mapping)) for row in rows}

    async def date_back(self, templates: Collection[str], *, latest: datetime, now: datetime) -> int:
        """Let mails that were queued later than a moment, by a clock that was ahead, be queued now."""
        these = (mails.c.enqueued_at > latest) & mails.c.template.in_(templates)
        return (await self._connection.execute(update(mails).where(these).values(enqueued_at=now))).rowcount

    async def _oldest(
        self, which: ColumnElement[bool], moment: ColumnElement[datetime | None], limit: int
    ) -> Sequence[Mail]:
        query = select(*COLUMNS).where(which).order_by(moment).limit(limit)
        return [_read(dict(row._mapping)) for row in await self._connection.execute(query)]

    async def _one(self, query: Select[tuple[object, ...]], outbox_id: str) -> Mail | None:
        row = (await self._connection.execute(query, {"this": outbox_id})).one_or_none()
        return None if row is None else _read(dict(row._mapping))


def _read(values: dict[str, Any]) -> Mail:
    mail = Mail(**values)
    return replace(mail, state=MailState(mail.state))
