"""Submission attempts: written before a claim leaves and closed when its answer is known."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.submission import Accepted, AccessDenied, AnswerLost, ProtocolMissing
from persistence.database.dialect import among
from persistence.repositories.noting import Noting
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


_LEFT = attempts.c.outcome.is_(None) | (attempts.c.outcome != NOT_SENT)
_ROW = (attempts.c.attempt, attempts.c.started_at, attempts.c.outcome, attempts.c.result)


class Attempts:
    """Sends by claim and by job."""

    def __init__(self, connection: AsyncConnection, notes: Noting) -> None:
        self._connection = connection
        self._notes = notes

    async def of_job(self, job_key: int, claim_id: str) -> AttemptRow | None:
        """The last send of the claim that this job made, if any; a new broker counts its keys anew."""
        mine = (attempts.c.job_key == job_key) & (attempts.c.claim_id == claim_id)
        query = select(*_ROW).where(mine).order_by(attempts.c.attempt.desc()).limit(1)
        row = (await self._connection.execute(query)).one_or_none()
        return None if row is None else AttemptRow(*row)

    async def start(self, claim_id: str, job_key: int, *, now: datetime) -> int:
        """Record that the claim is about to leave, sealed; returns the number of this send, from 1."""
        last = await self._connection.scalar(
            select(func.max(attempts.c.attempt)).where(attempts.c.claim_id == claim_id)
        )
        number = (last or 0) + 1
        row = {"claim_id": claim_id, "attempt": number, "job_key": job_key, "started_at": now}
        await self._connection.execute(insert(attempts).values(row))
        await self._notes.add(claim_id, SENDING, {"send": number, "job": str(job_key)}, now=now)
        return number

    async def finish(self, claim_id: str, attempt: int, result: AttemptResult, *, now: datetime) -> None:
        """Record what came of a send."""
        await self._connection.execute(
            update(attempts)
            .where(attempts.c.claim_id == claim_id, attempts.c.attempt == attempt)
            .values(outcome=result.outcome, result=result.facts, finished_at=now)
        )

    async def take_back(self, claim_id: str, attempt: int) -> None:
        """Nothing left after all: as if the send had not been begun."""
        mine = (attempts.c.claim_id == claim_id) & (attempts.c.attempt == attempt)
        await self._connection.execute(delete(attempts).where(mine, attempts.c.outcome.is_(None)))

    async def of_claim(self, claim_id: str) -> Sequence[AttemptRow]:
        """The claim's sends in order."""
        query = select(*_ROW).where(attempts.c.claim_id == claim_id).order_by(attempts.c.attempt)
        return [AttemptRow(*row) for row in await self._connection.execute(query)]

    async def answer_was_lost(self, claim_id: str, *, before: int = EVERY_SEND) -> bool:
        """Whether any earlier send may have arrived without our knowing, and was not undone since."""
        lost = attempts.c.outcome.is_(None) | (attempts.c.outcome == AnswerLost.stored_as)
        standing = _sends(claim_id, before) & attempts.c.undone_at.is_(None)
        return bool(await self._connection.scalar(select(func.count()).where(standing, lost)))

    async def may_have_arrived(self, claim_id: str) -> bool:
        """Whether the payer took a send of the claim, or may have taken one, and has not undone it since."""
        return bool(await self._connection.scalar(select(func.count()).where(standing_arrival(claim_id))))

    async def accepted_protocol(self, claim_id: str) -> str | None:
        """The number of an acceptance that the payer has not cancelled since, if there is one."""
        query = (
            select(attempts.c.result)
            .where(standing_arrival(claim_id), attempts.c.outcome == Accepted.stored_as)
            .order_by(attempts.c.attempt.desc())
        )
        results = (await self._connection.execute(query)).scalars().all()
        known = (str(r["protocolNumber"]) for r in results if r and r.get("protocolNumber"))
        return next(known, None) or (await self._noted_protocol(claim_id) if results else None)

    async def _noted_protocol(self, claim_id: str) -> str | None:
        """The number beside a claim, for acceptances whose facts an earlier version removed."""
        number: str | None = await self._connection.scalar(
            select(claims.c.protocol_number).where(claims.c.claim_id == claim_id)
        )
        return number

    async def undo(self, claim_id: str, *, before: int, now: datetime) -> None:
        """Note the payer's word that it has cancelled what arrived before a send."""
        standing = _sends(claim_id, before) & attempts.c.undone_at.is_(None)
        await self._connection.execute(update(attempts).where(standing).values(undone_at=now))

    async def undo_later(self, claim_id: str, *, after: int, now: datetime) -> None:
        """The same of later sends that it took, or may have: they were under way before its word came."""
        later = standing_arrival(claim_id) & (attempts.c.attempt > after)
        await self._connection.execute(update(attempts).where(later).values(undone_at=now))

    async def was_undone(self, claim_id: str, *, before: int) -> bool:
        """Whether the payer has cancelled an earlier send."""
        undone = _sends(claim_id, before) & attempts.c.undone_at.is_not(None)
        return bool(await self._connection.scalar(select(func.count()).where(undone)))

    async def was_denied(self, claim_id: str, *, before: int) -> bool:
        """Whether the payer denied us access at an earlier send of the claim."""
        denied = _sends(claim_id, before) & (attempts.c.outcome == AccessDenied.stored_as)
        return bool(await self._connection.scalar(select(func.count()).where(denied)))

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
