"""Counts first rounds for KPIs: by period, over all payers, for one, or for each."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, exists, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from domain.kpis.definitions import KpiName
from domain.kpis.periods import Period, Span
from domain.kpis.rounds import GivenUp
from domain.kpis.tally import Counted, KpiTally
from domain.submission import Accepted
from persistence.database.dialect import among
from persistence.repositories.attempts import NOT_SENT
from persistence.tables import claims, submission_attempts
from persistence.tables import first_rounds as rounds

MINUTE_US = 60_000_000
AT_ONCE = 10_000
"""So many claims are named in one question: SQLite takes no more than 32,766 values."""
RUNNING = tuple(
    state.value for state in ClaimState if not state.is_final and state is not ClaimState.IN_REVIEW
)
OURS = rounds.c.payer_id.is_not(None)
TAKEN = rounds.c.accepted_at.is_not(None)
TIMED = TAKEN & (rounds.c.since_failure_us >= 0) & (rounds.c.since_send_us >= 0)
"""A clock that was set back gives times before their beginning; earlier versions kept them as they were."""
RETRIED = OURS & rounds.c.is_retried
IS_RUNNING = rounds.c.given_up.is_(None) & claims.c.state.in_(RUNNING)


def _was(given_up: GivenUp) -> ColumnElement[bool]:
    return rounds.c.given_up == given_up


SPENT = RETRIED & ~TAKEN & _was(GivenUp.RETRIES)


def _number(which: ColumnElement[bool]) -> ColumnElement[int]:
    return func.count().filter(which)


def _sum(column: ColumnElement[Any], which: ColumnElement[bool] = TAKEN) -> ColumnElement[int]:
    return func.coalesce(func.sum(column).filter(which), 0)


BY_ITS_FIRST_SEND = exists().where(
    submission_attempts.c.claim_id == rounds.c.claim_id,
    submission_attempts.c.started_at < rounds.c.first_failed_at,
    submission_attempts.c.outcome == Accepted.stored_as,
    submission_attempts.c.undone_at.is_(None),
)
"""The answer that was missed came after all: no retry made it, and no person."""
BY_PEOPLE = rounds.c.given_up.is_not(None) | ~BY_ITS_FIRST_SEND
"""Of those that are taken and not in their first round: what was given up is a person's, in review."""
ROUNDS: Mapping[str, ColumnElement[int]] = {
    "decided": func.count(),
    "elsewhere": _number(~OURS),
    "permanent": _number(_was(GivenUp.PERMANENT)),
    "exhausted": _number(_was(GivenUp.RETRIES)),
    "by_deadline": _number(_was(GivenUp.DEADLINE)),
    "retried": _number(RETRIED),
    "recovered": _number(TAKEN),
    "untimed": _number(TAKEN & ~TIMED),
    "spent": _number(SPENT),
    "ended_by_deadline": _number(RETRIED & ~TAKEN & _was(GivenUp.DEADLINE)),
    "retries_sent": _sum(rounds.c.retries_sent),
    "since_failure_us": _sum(rounds.c.since_failure_us, TIMED),
    "since_send_us": _sum(rounds.c.since_send_us, TIMED),
}
STATES: Mapping[str, ColumnElement[int]] = {
    "running": _number(IS_RUNNING),
    "running_retried": _number(IS_RUNNING & rounds.c.is_retried),
    "in_review": _number(claims.c.state == ClaimState.IN_REVIEW),
    "by_people": _number((claims.c.state == ClaimState.ACCEPTED) & BY_PEOPLE),
}
"""What a claim's row says of those that were not taken in their first round."""


@dataclass(frozen=True, slots=True)
class ClaimBehind:
    """A claim behind a number: whether it counts towards it, and what became of it.

    Its retries are those of its first round; nobody knows them where another process sends.
    """

    claim_id: str
    payer_id: str | None
    first_failed_at: datetime
    counts: bool
    given_up: str | None
    accepted_at: datetime | None
    retries_sent: int | None
    since_failure_us: int | None
    since_send_us: int | None
    state: str | None

    @property
    def is_timed(self) -> bool:
        """Whether it was recovered, in times that are known."""
        times = self.since_failure_us, self.since_send_us
        return all(time is not None and time >= 0 for time in times)


class Kpis:
    """Counts; reads only."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def counted(self, period: Period, payer_id: str | None = None) -> Counted:
        """Over all payers, or for one."""
        tally = await self.tally(period, payer_id)
        return Counted(tally, await self.middle(period, payer_id) if tally.timed else None)

    async def tally(self, period: Period | Span, payer_id: str | None = None) -> KpiTally:
        """The same without what lies in the middle, for KPIs that do not ask for it."""
        which = _within(period, payer_id)
        base = (await self._connection.execute(_query(ROUNDS).where(which))).one()
        state = (await self._connection.execute(_joined(STATES).where(which, ~TAKEN))).one()
        return _tally(base, state)

    async def by_payer(self, period: Period) -> Mapping[str, Counted]:
        """For each payer; those of other processes have none."""
        which, payer = _within(period) & OURS, rounds.c.payer_id
        base = await self._connection.execute(_query(ROUNDS, payer).where(which).group_by(payer))
        states = await self._connection.execute(_joined(STATES, payer).where(which, ~TAKEN).group_by(payer))
        known = {row.payer_id: row for row in states}
        middles = await self._middles(which)
        return {
            row.payer_id: Counted(_tally(row, known.get(row.payer_id)), middles.get(row.payer_id))
            for row in base
        }

    async def behind(
        self, kpi: KpiName, period: Period, payer_id: str | None, limit: int
    ) -> Sequence[ClaimBehind]:
        """The claims behind a KPI, those that count towards its numerator first, newest first."""
        counts, base = BEHIND[kpi]
        query = (
            select(
                *(rounds.c.claim_id, rounds.c.payer_id, rounds.c.first_failed_at, counts.label("counts")),
                *(rounds.c.given_up, rounds.c.accepted_at, rounds.c.retries_sent),
                *(rounds.c.since_failure_us, rounds.c.since_send_us, claims.c.state),
            )
            .outerjoin_from(rounds, claims, claims.c.claim_id == rounds.c.claim_id)
            .where(_within(period, payer_id), base, ~(~TAKEN & func.coalesce(IS_RUNNING, False)))
            .order_by(counts.desc(), rounds.c.first_failed_at.desc(), rounds.c.claim_id)
            .limit(limit)
        )
        found = [ClaimBehind(*row) for row in await self._connection.execute(query)]
        ours = [one.claim_id for one in found if one.payer_id and not one.accepted_at]
        sent: dict[str, int] = {}
        for first in range(0, len(ours), AT_ONCE):
            sent |= await self._retries(ours[first : first + AT_ONCE])
        return [replace(one, retries_sent=sent.get(one.claim_id, one.retries_sent)) for one in found]

    async def _retries(self, claim_ids: Collection[str]) -> Mapping[str, int]:
        """How many retries of their first round were sent, of claims of ours that none of them saved."""
        sends = submission_attempts.c
        in_round = (sends.started_at > rounds.c.first_failed_at) & (
            rounds.c.given_up_at.is_(None) | (sends.started_at < rounds.c.given_up_at)
        )
        has_left = sends.outcome.is_distinct_from(NOT_SENT)
        query = (
            select(rounds.c.claim_id, _number(in_round & has_left))
            .outerjoin_from(rounds, submission_attempts, sends.claim_id == rounds.c.claim_id)
            .where(among(self._connection, rounds.c.claim_id, claim_ids))
            .group_by(rounds.c.claim_id)
        )
        return {row[0]: row[1] for row in await self._connection.execute(query)}

    async def middle(self, period: Period, payer_id: str | None = None) -> tuple[int, int] | None:
        """The values in the middle: counted by minutes first, then only those minutes are sorted."""
        which = _within(period, payer_id)
        time, minute = rounds.c.since_failure_us, rounds.c.since_failure_us // MINUTE_US
        counts = select(minute, func.count()).where(which, TIMED).group_by(minute)
        minutes = sorted((int(m), int(n)) for m, n in await self._connection.execute(counts))
        if not minutes:
            return None
        span = _middle_minutes(minutes)
        near = time.between(span.first * MINUTE_US, (span.last + 1) * MINUTE_US - 1)
        found = (await self._connection.scalars(select(time).where(which, TIMED, near).order_by(time))).all()
        return found[span.low], found[span.high]

    async def _middles(self, which: ColumnElement[bool]) -> Mapping[str, tuple[int, int]]:
        payer, time = rounds.c.payer_id, rounds.c.since_failure_us
        place = func.row_number().over(partition_by=payer, order_by=time).label("place")
        number = func.count().over(partition_by=payer).label("number")
        ranked = select(payer, time, place, number).where(which, TIMED).subquery()
        ranks = ranked.c
        in_the_middle = (ranks.place * 2).between(ranks.number, ranks.number + 2)
        found: dict[str, tuple[int, int]] = {}
        query = select(ranks.payer_id, ranks.since_failure_us).where(in_the_middle)
        for row in await self._connection.execute(query.order_by(ranks.payer_id, ranks.place)):
            low, _ = found.get(row.payer_id, (row.since_failure_us, 0))
            found[row.payer_id] = (low, row.since_failure_us)
        return found


BEHIND: Mapping[KpiName, tuple[ColumnElement[bool], ColumnElement[bool]]] = {
    KpiName.SUCCESS_AFTER_RETRY: (TAKEN, RETRIED),
    KpiName.MEAN_ATTEMPTS: (TAKEN, TAKEN),
    KpiName.LOST_CLAIMS: (func.coalesce(SPENT, False), RETRIED),
    KpiName.TIME_TO_SUCCESS: (TIMED, TAKEN),
    KpiName.MEAN_TIME_TO_SUCCESS: (TIMED, TAKEN),
    KpiName.PERMANENT_ERRORS: (func.coalesce(_was(GivenUp.PERMANENT), False), rounds.c.claim_id != ""),
    KpiName.EXHAUSTED: (func.coalesce(_was(GivenUp.RETRIES), False), rounds.c.claim_id != ""),
}
"""By KPI: who counts towards its numerator, of whom."""


@dataclass(frozen=True, slots=True)
class _MiddleMinutes:
    """In which minutes the values in the middle lie, and at which places of what lies there."""

    first: int
    last: int
    low: int
    high: int


def _middle_minutes(minutes: Sequence[tuple[int, int]]) -> _MiddleMinutes:
    number = sum(count for _, count in minutes)
    (first, before), (last, _) = (_minute_of(minutes, place) for place in ((number - 1) // 2, number // 2))
    return _MiddleMinutes(first, last, (number - 1) // 2 - before, number // 2 - before)


def _minute_of(minutes: Sequence[tuple[int, int]], place: int) -> tuple[int, int]:
    """The minute that holds the value at a place, and how many values lie before that minute."""
    before = 0
    for minute, count in minutes:
        if place < before + count:
            return minute, before
        before += count
    raise ValueError(f"{place} is not among {before} values")


def _within(period: Period | Span, payer_id: str | None = None) -> ColumnElement[bool]:
    at = rounds.c.first_failed_at
    during = and_(at >= period.start, at < period.end)
    return during if payer_id is None else during & (rounds.c.payer_id == payer_id)


def _query(numbers: Mapping[str, ColumnElement[int]], *beside: ColumnElement[Any]) -> Select[Any]:
    return select(*beside, *(number.label(name) for name, number in numbers.items())).select_from(rounds)


def _joined(numbers: Mapping[str, ColumnElement[int]], *beside: ColumnElement[Any]) -> Select[Any]:
    return _query(numbers, *beside).join(claims, claims.c.claim_id == rounds.c.claim_id).where(OURS)


def _tally(base: Row[Any], state: Row[Any] | None) -> KpiTally:
    """The numbers as whole ones: a sum may come as a decimal."""
    known = {name: int(base._mapping[name]) for name in ROUNDS}
    return KpiTally(**known, **({name: int(state._mapping[name]) for name in STATES} if state else {}))
