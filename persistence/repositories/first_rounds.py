"""First rounds of claims, kept with what they are made of: a row when a claim first fails, changed at most
twice, when it is given up and when it is taken. Nothing is written for a claim that is taken at once.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.catalog import ErrorClassification
from domain.kpis.rounds import (
    DecidedFailure,
    FirstRound,
    GivenUp,
    NumberedSend,
    Recovery,
    first_end,
    recovery,
)
from domain.submission import Accepted
from persistence.database.dialect import among, insert_into
from persistence.database.rows import row_of
from persistence.repositories.attempts import NOT_SENT
from persistence.tables import claims, first_rounds, submission_attempts
from persistence.tables import retry_decisions as decisions

rounds = first_rounds
RECOVERED = tuple(Recovery.__dataclass_fields__)
NOT_RECOVERED: dict[str, Any] = dict.fromkeys(RECOVERED)


@dataclass(frozen=True, slots=True)
class BegunRound:
    """A claim's first failure, as it was decided on."""

    claim_id: str
    first_failed_at: datetime
    is_retried: bool
    given_up: GivenUp | None
    given_up_at: datetime | None


@dataclass(frozen=True, slots=True)
class EndedRound:
    """The decision that gives a claim up for the first time."""

    claim_id: str
    given_up: GivenUp
    given_up_at: datetime


@dataclass(frozen=True, slots=True)
class TakenSend:
    """A send that its payer took, with all of the claim's sends up to it."""

    claim_id: str
    sends: tuple[NumberedSend, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class _OpenRound:
    first_failed_at: datetime
    given_up_at: datetime | None


class FirstRounds:
    """Writes first rounds; whoever writes holds the claim's row or chain."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def begin_all(self, begun: Iterable[BegunRound]) -> None:
        """Keep first failures; a claim that is known already stays as it is."""
        if rows := [row_of(one) | {"of": one.claim_id} for one in begun]:
            payer = select(claims.c.payer_id).where(claims.c.claim_id == bindparam("of")).scalar_subquery()
            new = insert_into(self._connection, rounds).values(payer_id=payer)
            await self._connection.execute(new.on_conflict_do_nothing(), rows)

    async def end_all(self, ended: Iterable[EndedRound]) -> None:
        """Note that claims are given up, where that is the first time."""
        if rows := [row_of(one) | {"of": one.claim_id} for one in ended]:
            for row in rows:
                del row["claim_id"]
            mine = (rounds.c.claim_id == bindparam("of")) & rounds.c.given_up.is_(None)
            await self._connection.execute(update(rounds).where(mine), rows)

    async def take_all(self, taken: Sequence[TakenSend]) -> None:
        """Note that claims were taken, where a retry of their first round has made it."""
        if not taken:
            return
        known = await self._open_rounds([one.claim_id for one in taken])
        made = [(one.claim_id, _recovery(one, known.get(one.claim_id))) for one in taken]
        if rows := [row_of(found) | {"of": claim_id} for claim_id, found in made if found]:
            mine = (rounds.c.claim_id == bindparam("of")) & rounds.c.accepted_at.is_(None)
            await self._connection.execute(update(rounds).where(mine), rows)

    async def forget_acceptance(self, claim_id: str) -> None:
        """The payer has cancelled what it had taken: as if it had not."""
        mine = (rounds.c.claim_id == claim_id) & rounds.c.accepted_at.is_not(None)
        await self._connection.execute(update(rounds).where(mine).values(NOT_RECOVERED))

    async def lock_claims(self, claim_ids: Collection[str]) -> None:
        """Let nobody move these claims until the transaction ends."""
        these = select(claims.c.claim_id).where(among(self._connection, claims.c.claim_id, claim_ids))
        await self._connection.execute(these.order_by(claims.c.claim_id).with_for_update())

    async def rebuild(self, claim_ids: Collection[str]) -> int:
        """Make the rows of claims anew from their decisions and sends; how many there are."""
        decided, sent = await self._decided(claim_ids), await self._sent(claim_ids)
        payers = await self._payers(claim_ids)
        found = [
            _first_round(claim_id, payers.get(claim_id), decided[claim_id], sent.get(claim_id, []))
            for claim_id in sorted(decided)
        ]
        if found:
            new = insert_into(self._connection, rounds)
            excluded = {c.name: new.excluded[c.name] for c in rounds.columns if not c.primary_key}
            kept = new.on_conflict_do_update(index_elements=["claim_id"], set_=excluded)
            await self._connection.execute(kept, [_row(one) for one in found])
        return len(found)

    async def missing(self, since: datetime | None, after: int, limit: int) -> Sequence[tuple[int, str]]:
        """Decisions since a moment whose claims have no row, by their ids, after one of them."""
        # asked row by row: joined, all first rounds would be read
        kept = select(rounds.c.claim_id).where(rounds.c.claim_id == decisions.c.claim_id).scalar_subquery()
        query = select(decisions.c.decision_id, decisions.c.claim_id)
        query = query.where(kept.is_(None), decisions.c.decision_id > after)
        if since is not None:
            query = query.where(decisions.c.decided_at >= since)
        rows = await self._connection.execute(query.order_by(decisions.c.decision_id).limit(limit))
        return [(row.decision_id, row.claim_id) for row in rows]

    async def unnoticed(self, since: datetime, limit: int) -> Sequence[str]:
        """Claims that a retry has saved though their round since a moment says nothing of how it ended."""
        sends = submission_attempts.c
        taken = select(sends.claim_id).where(
            sends.claim_id == rounds.c.claim_id,
            sends.attempt > 1,
            sends.outcome == Accepted.stored_as,
            sends.undone_at.is_(None),
        )
        silent = rounds.c.accepted_at.is_(None) & rounds.c.given_up.is_(None)
        query = select(rounds.c.claim_id).where(rounds.c.first_failed_at >= since, silent, taken.exists())
        found = await self._connection.scalars(query.order_by(rounds.c.first_failed_at.desc()).limit(limit))
        return list(found.all())

    async def find(self, claim_id: str) -> FirstRound | None:
        """A claim's first round; None when it never failed."""
        row = (
            await self._connection.execute(select(rounds).where(rounds.c.claim_id == claim_id))
        ).one_or_none()
        return None if row is None else _read(row)

    async def _open_rounds(self, claim_ids: Collection[str]) -> Mapping[str, _OpenRound]:
        mine = among(self._connection, rounds.c.claim_id, claim_ids) & rounds.c.accepted_at.is_(None)
        query = select(rounds.c.claim_id, rounds.c.first_failed_at, rounds.c.given_up_at).where(mine)
        rows = await self._connection.execute(query)
        return {row.claim_id: _OpenRound(row.first_failed_at, row.given_up_at) for row in rows}

    async def _decided(self, claim_ids: Collection[str]) -> Mapping[str, list[Row[Any]]]:
        columns = decisions.c
        query = select(
            *(columns.claim_id, columns.decided_at, columns.should_retry, columns.cause),
            *(columns.error_classification, columns.retry_count, columns.max_retries),
        ).where(among(self._connection, columns.claim_id, claim_ids))
        return await self._by_claim(query.order_by(columns.decision_id))

    async def _sent(self, claim_ids: Collection[str]) -> Mapping[str, list[Row[Any]]]:
        columns = submission_attempts.c
        query = select(
            *(columns.claim_id, columns.attempt, columns.started_at),
            *(columns.finished_at, columns.outcome, columns.undone_at),
        ).where(among(self._connection, columns.claim_id, claim_ids))
        return await self._by_claim(query.order_by(columns.attempt))

    async def _by_claim(self, query: Any) -> Mapping[str, list[Row[Any]]]:
        found: defaultdict[str, list[Row[Any]]] = defaultdict(list)
        for row in await self._connection.execute(query):
            found[row.claim_id].append(row)
        return found

    async def _payers(self, claim_ids: Collection[str]) -> Mapping[str, str]:
        query = select(claims.c.claim_id, claims.c.payer_id)
        mine = among(self._connection, claims.c.claim_id, claim_ids)
        return {row.claim_id: row.payer_id for row in await self._connection.execute(query.where(mine))}


def _recovery(taken: TakenSend, known: _OpenRound | None) -> Recovery | None:
    return recovery(known.first_failed_at, known.given_up_at, taken.sends, taken.at) if known else None


def _first_round(
    claim_id: str, payer_id: str | None, decided: Sequence[Row[Any]], sent: Sequence[Row[Any]]
) -> FirstRound:
    first, end = decided[0], first_end([DecidedFailure(row.decided_at, given_up_of(row)) for row in decided])
    ended_at, taken = end.at if end else None, _first_taken(claim_id, sent)
    return FirstRound(
        claim_id=claim_id,
        payer_id=payer_id,
        first_failed_at=first.decided_at,
        is_retried=first.should_retry,
        given_up=end.given_up if end else None,
        given_up_at=ended_at,
        recovery=recovery(first.decided_at, ended_at, taken.sends, taken.at) if taken else None,
    )


def given_up_of(row: Row[Any]) -> GivenUp | None:
    """Why a decision ended the retries; rows of earlier versions have no cause."""
    if row.should_retry:
        return None
    if row.cause:
        return GivenUp(row.cause)
    is_permanent = (
        row.error_classification == ErrorClassification.PERMANENT and row.retry_count < row.max_retries
    )
    return GivenUp.PERMANENT if is_permanent else GivenUp.RETRIES


def _first_taken(claim_id: str, sent: Sequence[Row[Any]]) -> TakenSend | None:
    taken = [row for row in sent if row.outcome == Accepted.stored_as and row.undone_at is None]
    if not taken:
        return None
    first = min(taken, key=lambda row: (row.finished_at, row.attempt))
    sends = [
        NumberedSend(r.attempt, r.started_at) for r in sent if r.attempt <= first.attempt and left(r.outcome)
    ]
    return TakenSend(claim_id, tuple(sends), first.finished_at)


def left(outcome: str | None) -> bool:
    """Whether a send left at all; of earlier versions some were held."""
    return outcome != NOT_SENT


def _row(found: FirstRound) -> dict[str, Any]:
    values = row_of(found)
    made = values.pop("recovery")
    return values | (row_of(made) if made else NOT_RECOVERED)


def _read(row: Row[Any]) -> FirstRound:
    values = dict(row._mapping)
    made = {name: values.pop(name) for name in RECOVERED}
    given_up = values.pop("given_up")
    return FirstRound(
        **values,
        given_up=GivenUp(given_up) if given_up else None,
        recovery=Recovery(**made) if made["accepted_at"] else None,
    )
