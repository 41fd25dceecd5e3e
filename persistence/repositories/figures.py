"""What gauges are read from: counts that cost little however much there is."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BigInteger, ColumnElement, case, cast, extract, func, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from domain.mail.mail import MailState
from domain.mail.success import MailTally
from domain.payer_status import PayerStatus
from persistence.database.dialect import among
from persistence.repositories.payers import Payers
from persistence.tables import claims, mails, payer_sends, payer_status, payer_waits
from persistence.tables import dead_letters as letters
from persistence.tables import retry_decisions as decisions

WAITING = mails.c.state == MailState.PENDING


@dataclass(frozen=True, slots=True)
class PayerFigures:
    """A payer, and how much waits for it and is under way there."""

    status: PayerStatus
    waiting: int
    under_way: int


@dataclass(frozen=True, slots=True)
class LetterAges:
    """How many dead letters are no older than each bound, how many there are, their ages' sum in seconds."""

    within: tuple[int, ...]
    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ScheduledRetry:
    """A retry as it was scheduled; a deadline may have shortened its wait."""

    policy_version: str
    retry_count: int
    reason: str
    decided_at: datetime
    next_retry_time: datetime
    deadline: datetime | None


class Figures:
    """Counts of what there is now, or was of late."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def claims_in(self, states: Collection[ClaimState]) -> Mapping[ClaimState, int]:
        """How many claims are in each of these states."""
        these = among(self._connection, claims.c.state, [state.value for state in states])
        query = select(claims.c.state, func.count()).where(these).group_by(claims.c.state)
        found = {ClaimState(state): number for state, number in await self._connection.execute(query)}
        return {state: found.get(state, 0) for state in states}

    async def payers(self, now: datetime) -> Sequence[PayerFigures]:
        """Every payer ever sent to."""
        waiting = select(func.count()).where(payer_waits.c.payer_id == payer_status.c.payer_id)
        running = (payer_sends.c.payer_id == payer_status.c.payer_id) & (payer_sends.c.until > now)
        counts = waiting.scalar_subquery(), select(func.count()).where(running).scalar_subquery()
        rows = await self._connection.execute(select(payer_status.c.payer_id, *counts))
        statuses = {status.payer_id: status for status in await Payers(self._connection).all()}
        return [PayerFigures(statuses[payer_id], *numbers) for payer_id, *numbers in rows]

    async def mails_since(self, since: datetime) -> Sequence[MailTally]:
        """Mails queued since a moment: how many have made how many attempts, and how that ended."""
        under_way = mails.c.sending_until.is_not(None)
        columns = (mails.c.attempts, mails.c.state, under_way)
        query = select(*columns, func.count()).where(mails.c.enqueued_at >= since).group_by(*columns)
        rows = await self._connection.execute(query)
        return [MailTally(attempts, MailState(state), bool(busy), n) for attempts, state, busy, n in rows]

    async def mails_by_company(self, since: datetime, limit: int) -> Sequence[tuple[str, int]]:
        """The companies with most mail queued since a moment, the biggest first."""
        number = func.count()
        query = select(mails.c.company_id, number).where(mails.c.enqueued_at >= since)
        ranked = query.group_by(mails.c.company_id).order_by(number.desc(), mails.c.company_id).limit(limit)
        return [(company_id, found) for company_id, found in await self._connection.execute(ranked)]

    async def letter_ages(self, now: datetime, bounds: Sequence[datetime]) -> LetterAges:
        """Ages of the dead letters, 0 for one that is dated ahead; they are counted since the `bounds`."""
        within = (_sum(_as_number(letters.c.moved_at >= bound)) for bound in bounds)
        moved = cast(extract("epoch", letters.c.moved_at), BigInteger)
        this_second = literal(int(now.timestamp()), BigInteger)
        not_ahead = case((letters.c.moved_at > now, this_second), else_=moved)
        query = select(func.count(), _sum(not_ahead), *within)
        number, seconds, *counts = (await self._connection.execute(query)).one()
        return LetterAges(tuple(counts), number, number * now.timestamp() - float(seconds))

    async def scheduled_retries(self, since: datetime, limit: int) -> Sequence[ScheduledRetry]:
        """The latest retries scheduled since a moment."""
        names = ("policy_version", "retry_count", "retry_reason", "decided_at", "next_retry_time", "deadline")
        query = select(*(decisions.c[name] for name in names)).where(
            decisions.c.decided_at >= since, decisions.c.should_retry
        )
        rows = await self._connection.execute(query.order_by(decisions.c.decided_at.desc()).limit(limit))
        return [ScheduledRetry(*row) for row in rows]


def _sum(numbers: ColumnElement[int]) -> ColumnElement[int]:
    return func.coalesce(func.sum(numbers), 0)


def _as_number(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)
