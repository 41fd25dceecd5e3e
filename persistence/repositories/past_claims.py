"""The newest claims with all that is on record of their first rounds, to be played again; reads only."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from domain.kpis.rounds import GivenUp
from persistence.database.dialect import among
from persistence.repositories.attempts import NOT_SENT
from persistence.repositories.first_rounds import given_up_of
from persistence.tables import claims
from persistence.tables import retry_decisions as decisions
from persistence.tables import submission_attempts as attempts

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class SendOnRecord:
    """One send; `facts` are gone after their period."""

    started_at: datetime
    finished_at: datetime | None
    outcome: str | None
    facts: dict[str, Any] | None
    undone_at: datetime | None


@dataclass(frozen=True, slots=True)
class DecisionOnRecord:
    """One decision: about which error, and whether it ended the retries."""

    at: datetime
    error: str
    given_up: GivenUp | None


@dataclass(frozen=True, slots=True)
class SentClaim:
    """A claim, its sends and what was decided about it, oldest first."""

    claim_id: str
    payer_id: str
    state: ClaimState
    created_at: datetime
    updated_at: datetime
    deadline: datetime | None
    sends: tuple[SendOnRecord, ...] = ()
    decided: tuple[DecisionOnRecord, ...] = ()


class PastClaims:
    """Claims that were sent at least once."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def newest(self, limit: int) -> Sequence[SentClaim]:
        """Those that came last, oldest first."""
        names = ("claim_id", "payer_id", "state", "created_at", "updated_at", "deadline")
        order = (claims.c.created_at.desc(), claims.c.claim_id)
        query = select(*(claims.c[name] for name in names)).order_by(*order).limit(limit)
        rows = (await self._connection.execute(query)).all()
        found: list[SentClaim] = []
        for page in _pages(rows[::-1]):
            ids = [row.claim_id for row in page]
            sends, decided = await self._sends(ids), await self._decisions(ids)
            found += [_claim(row, sends[row.claim_id], decided[row.claim_id]) for row in page]
        return [claim for claim in found if claim.sends]

    async def _sends(self, ids: Collection[str]) -> Mapping[str, list[SendOnRecord]]:
        columns = (attempts.c.started_at, attempts.c.finished_at, attempts.c.outcome, attempts.c.result)
        mine = among(self._connection, attempts.c.claim_id, ids)
        query = select(attempts.c.claim_id, *columns, attempts.c.undone_at).where(mine)
        found: defaultdict[str, list[SendOnRecord]] = defaultdict(list)
        for claim_id, *row in await self._connection.execute(query.order_by(attempts.c.attempt)):
            if row[2] != NOT_SENT:
                found[claim_id].append(SendOnRecord(*row))
        return found

    async def _decisions(self, ids: Collection[str]) -> Mapping[str, list[DecisionOnRecord]]:
        c = decisions.c
        columns = (c.claim_id, c.decided_at, c.submission_error, c.should_retry, c.cause)
        judged = (c.error_classification, c.retry_count, c.max_retries)
        query: Select[Any] = select(*columns, *judged).where(among(self._connection, c.claim_id, ids))
        found: defaultdict[str, list[DecisionOnRecord]] = defaultdict(list)
        for row in await self._connection.execute(query.order_by(c.decision_id)):
            one = DecisionOnRecord(row.decided_at, row.submission_error, given_up_of(row))
            found[row.claim_id].append(one)
        return found


def _pages(rows: Sequence[Row[Any]]) -> Iterator[Sequence[Row[Any]]]:
    return (rows[first : first + AT_ONCE] for first in range(0, len(rows), AT_ONCE))


def _claim(row: Row[Any], sends: Sequence[SendOnRecord], decided: Sequence[DecisionOnRecord]) -> SentClaim:
    values = dict(row._mapping) | {"state": ClaimState(row.state)}
    return SentClaim(**values, sends=tuple(sends), decided=tuple(decided))
