"""Submission attempts: written before a claim leaves and closed when its answer is known."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.submission import Accepted, AccessDenied, AnswerLost, ProtocolMissing
from persistence.database.dialect import among
from persistence.database.rows import row_of
from persistence.repositories.noting import Note, Noting
from persistence.tables import claims
from persistence.tables import submission_attempts as attempts

SENDING = "sending"
NOT_SENT = "UNAVAILABLE"
"""Only rows of earlier versions hold it: of sends that a practice payer held, so that they never left."""
EVERY_SEND = 2**31 - 1
ARRIVED = (Accepted.stored_as, ProtocolMissing.stored_as, AnswerLost.stored_as)


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """What came of a send: the name of its outcome, and its facts, redacted."""

    outcome: str
    facts: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One send of a claim; without an outcome the answer is not known (yet).

    `result` holds the facts of the send; in rows of earlier versions, what the engine was answered.
    """

    attempt: int
    started_at: datetime
    outcome: str | None
    result: dict[str, Any] | None
    job_key: int = 0
    undone_at: datetime | None = None

    @property
    def is_lost(self) -> bool:
        """Whether it may have arrived without our knowing."""
        return self.outcome in (None, AnswerLost.stored_as)

    @property
    def stands(self) -> bool:
        """Whether the payer has not cancelled what it had of it."""
        return self.undone_at is None


@dataclass(frozen=True, slots=True)
class History:
    """All sends of a claim, in order."""

    sends: tuple[AttemptRow, ...] = ()

    @property
    def last(self) -> int:
        """The number of the last send, 0 before the first."""
        return self.sends[-1].attempt if self.sends else 0

    @property
    def answer_was_lost(self) -> bool:
        """Whether any send may have arrived without our knowing, and was not undone since."""
        return any(send.is_lost and send.stands for send in self.sends)

    @property
    def was_undone(self) -> bool:
        """Whether the payer has cancelled a send."""
        return any(not send.stands for send in self.sends)

    @property
    def acceptances(self) -> Sequence[AttemptRow]:
        """Those that the payer has not cancelled since, the last first."""
        return [s for s in reversed(self.sends) if s.outcome == Accepted.stored_as and s.stands]

    @property
    def accepted_protocol(self) -> str | None:
        """The number of an acceptance that stands, if there is one."""
        return self.protocol_beside(None)

    def protocol_beside(self, noted: str | None) -> str | None:
        """The same; an earlier version may have removed its facts, but not the number beside its claim."""
        results = [send.result for send in self.acceptances]
        known = (str(r["protocolNumber"]) for r in results if r and r.get("protocolNumber"))
        return next(known, noted if results else None)

    def of_job(self, job_key: int) -> AttemptRow | None:
        """The last send that this job made, if any; a new broker counts its keys anew."""
        return next((send for send in reversed(self.sends) if send.job_key == job_key), None)

    def was_denied(self, *, before: int) -> bool:
        """Whether the payer denied us access at an earlier send."""
        return any(s.attempt < before and s.outcome == AccessDenied.stored_as for s in self.sends)

    def is_undone(self, attempt: int) -> bool:
        """Whether the payer has cancelled this send."""
        return any(send.attempt == attempt and not send.stands for send in self.sends)

    def answered(self, attempt: int, result: AttemptResult) -> "History":
        """The same with the answer to a send."""
        return History(
            tuple(
                replace(send, outcome=result.outcome, result=result.facts)
                if send.attempt == attempt
                else send
                for send in self.sends
            )
        )


@dataclass(frozen=True, slots=True)
class Leaving:
    """A send that is about to begin: at its moment, which may lie up to a second ahead."""

    claim_id: str
    attempt: int
    job_key: int
    started_at: datetime


@dataclass(frozen=True, slots=True)
class AttemptAnswer:
    """What came of a send."""

    claim_id: str
    attempt: int
    result: AttemptResult
    at: datetime


_LEFT = attempts.c.outcome.is_(None) | (attempts.c.outcome != NOT_SENT)
_ROW = tuple(attempts.c[name] for name in AttemptRow.__dataclass_fields__)


class Attempts:
    """Sends by claim and by job."""

    def __init__(self, connection: AsyncConnection, notes: Noting) -> None:
        self._connection = connection
        self._notes = notes

    async def history(self, claim_id: str) -> History:
        """The claim's sends."""
        return (await self.histories([claim_id]))[claim_id]

    async def histories(self, claim_ids: Collection[str]) -> Mapping[str, History]:
        """The sends of several claims; a claim that was never sent has an empty history."""
        query = select(attempts.c.claim_id, *_ROW).order_by(attempts.c.claim_id, attempts.c.attempt)
        mine = among(self._connection, attempts.c.claim_id, claim_ids)
        sends: dict[str, list[AttemptRow]] = {claim_id: [] for claim_id in claim_ids}
        for claim_id, *row in await self._connection.execute(query.where(mine)):
            sends[claim_id].append(AttemptRow(*row))
        return {claim_id: History(tuple(rows)) for claim_id, rows in sends.items()}

    async def of_job(self, job_key: int, claim_id: str) -> AttemptRow | None:
        """The last send of the claim that this job made, if any."""
        return (await self.history(claim_id)).of_job(job_key)

    async def start(self, claim_id: str, job_key: int, *, now: datetime) -> int:
        """Record that the claim is about to leave, sealed; returns the number of this send, from 1."""
        number = (await self.history(claim_id)).last + 1
        await self.start_all([Leaving(claim_id, number, job_key, now)])
        return number

    async def start_all(self, leaving: Sequence[Leaving]) -> None:
        """Record that claims are about to leave, sealed."""
        await self._connection.execute(insert(attempts), [row_of(one) for one in leaving])
        await self._notes.add_all(
            Note(one.claim_id, SENDING, {"send": one.attempt, "job": str(one.job_key)}, one.started_at)
            for one in leaving
        )

    async def finish(self, claim_id: str, attempt: int, result: AttemptResult, *, now: datetime) -> None:
        """Record what came of a send."""
        await self.finish_all([AttemptAnswer(claim_id, attempt, result, now)])

    async def finish_all(self, answers: Iterable[AttemptAnswer]) -> None:
        """Record what came of several sends."""
        mine = (attempts.c.claim_id == bindparam("of")) & (attempts.c.attempt == bindparam("number"))
        told = update(attempts).where(mine)
        rows = [
            {"of": one.claim_id, "number": one.attempt, "outcome": one.result.outcome}
            | {"result": one.result.facts, "finished_at": one.at}
            for one in answers
        ]
        await self._connection.execute(told, rows)

    async def take_back(self, claim_id: str, attempt: int) -> None:
        """Nothing left after all: as if the send had not been begun."""
        mine = (attempts.c.claim_id == claim_id) & (attempts.c.attempt == attempt)
        await self._connection.execute(delete(attempts).where(mine, attempts.c.outcome.is_(None)))

    async def may_have_arrived(self, claim_id: str) -> bool:
        """Whether the payer took a send of the claim, or may have taken one, and has not undone it since."""
        return bool(await self._connection.scalar(select(func.count()).where(standing_arrival(claim_id))))

    async def undo(self, claim_id: str, *, before: int, now: datetime) -> None:
        """Note the payer's word that it has cancelled what arrived before a send."""
        standing = _sends(claim_id, before) & attempts.c.undone_at.is_(None)
        await self._connection.execute(update(attempts).where(standing).values(undone_at=now))

    async def undo_later(self, claim_id: str, *, after: int, now: datetime) -> None:
        """The same of later sends that it took, or may have: they were under way before its word came."""
        later = standing_arrival(claim_id) & (attempts.c.attempt > after)
        await self._connection.execute(update(attempts).where(later).values(undone_at=now))

    async def claimed_protocol(self, claim_id: str) -> str | None:
        """The protocol number that the last damaged answer to the claim names, if any does."""
        query = (
            select(attempts.c.result)
            .where(attempts.c.claim_id == claim_id, attempts.c.outcome == AnswerLost.stored_as)
            .order_by(attempts.c.attempt.desc())
        )
        results = (await self._connection.execute(query)).scalars()
        return next((str(r["claimedProtocol"]) for r in results if r and "claimedProtocol" in r), None)

    async def count(self, claim_id: str) -> int:
        """How often the claim left for its payer."""
        query = select(func.count()).where(attempts.c.claim_id == claim_id, _LEFT)
        return await self._connection.scalar(query) or 0

    async def counts(self, claim_ids: Collection[str]) -> Mapping[str, int]:
        """How often claims left for their payers; those that others send are not in it."""
        if not claim_ids:
            return {}
        query = (
            select(claims.c.claim_id, func.count(attempts.c.attempt).label("sends"))
            .outerjoin_from(claims, attempts, and_(attempts.c.claim_id == claims.c.claim_id, _LEFT))
            .where(among(self._connection, claims.c.claim_id, claim_ids))
            .group_by(claims.c.claim_id)
        )
        rows = await self._connection.execute(query)
        return {row.claim_id: row.sends for row in rows}


def standing_arrival(claim_id: str | ColumnElement[str]) -> ColumnElement[bool]:
    """The claim's sends that arrived, or may have, and are not undone."""
    arrived = attempts.c.outcome.is_(None) | attempts.c.outcome.in_(ARRIVED)
    return (attempts.c.claim_id == claim_id) & attempts.c.undone_at.is_(None) & arrived


def _sends(claim_id: str, before: int) -> ColumnElement[bool]:
    return (attempts.c.claim_id == claim_id) & (attempts.c.attempt < before)
