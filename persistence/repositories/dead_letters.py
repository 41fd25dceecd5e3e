"""Dead letters: at most so many, each with its reason, until it has arrived after all or its time is over."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Row, delete, exists, func, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.mail.dead_letters import AT_MOST, DeadLetter
from domain.mail.mail import MailState
from persistence.database.dialect import among, insert_into, one_at_a_time
from persistence.database.rows import row_of
from persistence.tables import dead_letters as letters
from persistence.tables import mails

AT_REST = letters.c.redriven_at.is_(None)
IS_PENDING = exists().where(mails.c.outbox_id == letters.c.outbox_id, mails.c.state == MailState.PENDING)
ADDING = 7205759403792794
"""Who adds a dead letter on PostgreSQL counts alone: two could both find the last place free."""


@dataclass(frozen=True, slots=True)
class WantedLetters:
    """Which dead letters: of a code, of a company, moved before or since a moment; all unless it is said.

    `on_its_way`: those that were brought back and have neither arrived nor failed since, or all but those.
    """

    code: str | None = None
    company_id: str | None = None
    moved_before: datetime | None = None
    moved_since: datetime | None = None
    on_its_way: bool | None = None

    def condition(self) -> ColumnElement[bool]:
        """The same as a condition on rows."""
        wanted: ColumnElement[bool] = true()
        if self.code is not None:
            wanted &= letters.c.last_failure_code == self.code
        if self.company_id is not None:
            wanted &= letters.c.company_id == self.company_id
        if self.moved_before is not None:
            wanted &= letters.c.moved_at < self.moved_before
        if self.moved_since is not None:
            wanted &= letters.c.moved_at >= self.moved_since
        if self.on_its_way is not None:
            wanted &= ~AT_REST if self.on_its_way else AT_REST
        return wanted

    def fits(self, code: str | None, company_id: str, moved_at: datetime) -> bool:
        """Whether a letter of this code and company that came at a moment is one of them."""
        since, before = self.moved_since or moved_at, self.moved_before
        named = self.code in (None, code) and self.company_id in (None, company_id)
        return named and moved_at >= since and (before is None or moved_at < before)


ALL = WantedLetters()


@dataclass(frozen=True, slots=True)
class LetterPlace:
    """A letter's place in their order, from which the next page begins."""

    moved_at: datetime
    outbox_id: str


class DeadLetters:
    """Dead letters by their outbox id, oldest first."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, letter: DeadLetter, *, at_most: int = AT_MOST) -> bool:
        """Keep a letter, in the place of an earlier one of the same mail; False when there is no room."""
        await one_at_a_time(self._connection, ADDING)
        if await self.find(letter.outbox_id) is None and await self.count() >= at_most:
            return False
        values = _row(letter)
        statement = insert_into(self._connection, letters).values(values)
        await self._connection.execute(
            statement.on_conflict_do_update(index_elements=["outbox_id"], set_=values)
        )
        return True

    async def find(self, outbox_id: str) -> DeadLetter | None:
        """The letter, or None."""
        row = await self._connection.execute(select(letters).where(letters.c.outbox_id == outbox_id))
        found = row.one_or_none()
        return None if found is None else _letter(found)

    async def sealed(self, outbox_ids: Collection[str]) -> Mapping[str, str]:
        """What the letters were to say, as it is kept."""
        these = among(self._connection, letters.c.outbox_id, outbox_ids)
        query = select(letters.c.outbox_id, letters.c.original_data).where(these)
        return {row.outbox_id: row.original_data for row in await self._connection.execute(query)}

    async def list(
        self, wanted: WantedLetters = ALL, *, limit: int = 100, after: LetterPlace | None = None
    ) -> Sequence[DeadLetter]:
        """A page of letters, oldest first, after a place."""
        query = select(letters).where(wanted.condition())
        if after is not None:
            later = letters.c.moved_at > after.moved_at
            same = (letters.c.moved_at == after.moved_at) & (letters.c.outbox_id > after.outbox_id)
            query = query.where(letters.c.moved_at >= after.moved_at, later | same)
        ordered = query.order_by(letters.c.moved_at, letters.c.outbox_id).limit(limit)
        return [_letter(row) for row in await self._connection.execute(ordered)]

    async def count(self, wanted: WantedLetters = ALL) -> int:
        """How many there are."""
        query = select(func.count()).select_from(letters).where(wanted.condition())
        return await self._connection.scalar(query) or 0

    async def by_code(self, wanted: WantedLetters = ALL) -> Sequence[tuple[str | None, int]]:
        """The runbook's first question: how many of each lastFailureCode, most first."""
        return await self._grouped(letters.c.last_failure_code, wanted, None)

    async def by_company(
        self, wanted: WantedLetters = ALL, *, limit: int = 10
    ) -> Sequence[tuple[str | None, int]]:
        """The runbook's second: the companies with most of them."""
        return await self._grouped(letters.c.company_id, wanted, limit)

    async def crowded(self, more_than: int) -> Sequence[tuple[str | None, int]]:
        """Every company with more than so many, most first."""
        number = func.count()
        query = select(letters.c.company_id, number).group_by(letters.c.company_id).having(number > more_than)
        rows = await self._connection.execute(query.order_by(number.desc(), letters.c.company_id))
        return [(name, count) for name, count in rows]

    async def marks(self, outbox_ids: Collection[str]) -> Sequence[tuple[str | None, str]]:
        """Code and company of each of these."""
        these = among(self._connection, letters.c.outbox_id, outbox_ids)
        rows = await self._connection.execute(
            select(letters.c.last_failure_code, letters.c.company_id).where(these)
        )
        return [(code, company) for code, company in rows]

    async def oldest(self) -> datetime | None:
        """When the oldest was moved here."""
        found: datetime | None = await self._connection.scalar(select(func.min(letters.c.moved_at)))
        return found

    async def to_redrive(
        self, wanted: WantedLetters = ALL, *, failed_before: datetime | None = None
    ) -> Sequence[str]:
        """The ids of those that may be brought back; the one that failed last comes last, so that letters
        which fail again and again do not stand in the way of the others."""
        query = select(letters.c.outbox_id).where(wanted.condition(), AT_REST)
        if failed_before is not None:
            query = query.where(letters.c.last_failure_at <= failed_before)
        ordered = query.order_by(letters.c.last_failure_at, letters.c.outbox_id)
        return list(await self._connection.scalars(ordered))

    async def failed_again(self, since: datetime) -> int:
        """How many that were here before a moment have failed once more since."""
        again = (letters.c.moved_at < since) & (letters.c.last_failure_at >= since)
        query = select(func.count()).select_from(letters).where(again, AT_REST)
        return await self._connection.scalar(query) or 0

    async def redriven(self, outbox_ids: Collection[str], *, now: datetime) -> None:
        """Remember that these were sent on their way again."""
        these = among(self._connection, letters.c.outbox_id, outbox_ids)
        await self._connection.execute(update(letters).where(these).values(redriven_at=now))

    async def remove(self, outbox_ids: Collection[str], *, on_its_way: bool = True) -> int:
        """Remove letters, or those of them that are not on their way; how many there were."""
        these = among(self._connection, letters.c.outbox_id, outbox_ids)
        which = these if on_its_way else these & AT_REST
        return (await self._connection.execute(delete(letters).where(which))).rowcount

    async def lay_to_rest(self, *, redriven_before: datetime) -> int:
        """Letters that were brought back before a moment and whose mail is on no way any more; how many.

        Not those of just now: a redrive that commits meanwhile must not be overlooked.
        """
        stray = (letters.c.redriven_at < redriven_before) & ~IS_PENDING
        return (
            await self._connection.execute(update(letters).where(stray).values(redriven_at=None))
        ).rowcount

    async def expired(self, now: datetime, limit: int) -> Sequence[DeadLetter]:
        """The letters whose time is over, those first whose time ended first.

        Not those on their way: their mail arrives or fails within its day.
        """
        due = select(letters).where(letters.c.expires_at <= now, AT_REST)
        rows = await self._connection.execute(due.order_by(letters.c.expires_at).limit(limit))
        return [_letter(row) for row in rows]

    async def _grouped(
        self, column: ColumnElement[str | None], wanted: WantedLetters, limit: int | None
    ) -> Sequence[tuple[str | None, int]]:
        number = func.count()
        query = select(column, number).where(wanted.condition()).group_by(column)
        rows = await self._connection.execute(query.order_by(number.desc(), column).limit(limit))
        return [(name, count) for name, count in rows]


def _row(letter: DeadLetter) -> dict[str, object]:
    values = row_of(letter)
    millis = values.pop("ttl") // timedelta(milliseconds=1)
    return values | {"ttl_ms": millis, "expires_at": letter.expires_at}


def _letter(row: Row[tuple[object, ...]]) -> DeadLetter:
    values = dict(row._mapping)
    values.pop("expires_at")
    return DeadLetter(ttl=timedelta(milliseconds=values.pop("ttl_ms")), **values)
