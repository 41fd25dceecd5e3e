"""What reaches people: reviews to decide and notices to read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.database.dialect import among
from persistence.tables import notices, reviews


@dataclass(frozen=True, slots=True)
class Review:
    """A claim that waits for a person, why, and for whom; the round counts its reviews from 0."""

    claim_id: str
    round: int
    reason: str
    detail: str | None
    team: str | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to a group of people about a claim."""

    claim_id: str
    recipient: str
    template: str


class Reviews:
    """Reviews by claim; one per claim and job, however often it is delivered."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def of_job(self, job_key: int, claim_id: str) -> int | None:
        """The id of the claim's review that this job opened, if it did."""
        mine = (reviews.c.job_key == job_key) & (reviews.c.claim_id == claim_id)
        return await self._connection.scalar(select(reviews.c.review_id).where(mine))

    async def last_job(self, claim_id: str) -> int | None:
        """The key of the job that opened the claim's latest review."""
        query = select(reviews.c.job_key).where(reviews.c.claim_id == claim_id)
        return await self._connection.scalar(query.order_by(reviews.c.review_id.desc()).limit(1))

    async def open(self, review: Review, *, job_key: int, now: datetime) -> int:
        """Open a review; returns its id."""
        row = {
            "claim_id": review.claim_id,
            "job_key": job_key,
            "round": review.round,
            "reason": review.reason,
            "detail": review.detail,
            "team": review.team,
            "opened_at": now,
        }
        done = await self._connection.execute(insert(reviews).values(row).returning(reviews.c.review_id))
        return int(done.scalar_one())

    async def of_claim(self, claim_id: str) -> Sequence[Review]:
        """The claim's reviews, oldest first."""
        query = (
            select(reviews.c.claim_id, reviews.c.round, reviews.c.reason, reviews.c.detail, reviews.c.team)
            .where(reviews.c.claim_id == claim_id)
            .order_by(reviews.c.review_id)
        )
        return [Review(*row) for row in await self._connection.execute(query)]

    async def teams(self, claim_ids: Collection[str]) -> Mapping[str, str]:
        """Which team each claim's latest review waits for, where it names one."""
        query = (
            select(reviews.c.claim_id, reviews.c.team)
            .where(among(self._connection, reviews.c.claim_id, claim_ids))
            .order_by(reviews.c.review_id)
        )
        latest = {row.claim_id: row.team for row in await self._connection.execute(query)}
        return {claim_id: team for claim_id, team in latest.items() if team}


class Notices:
    """Recorded notices; one per claim and job, however often it is delivered."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def record(self, notice: Notice, *, job_key: int, now: datetime) -> bool:
        """Record a notice; False when this job recorded it before."""
        mine = (notices.c.job_key == job_key) & (notices.c.claim_id == notice.claim_id)
        if await self._connection.scalar(select(notices.c.notice_id).where(mine)) is not None:
            return False
        row = {
            "claim_id": notice.claim_id,
            "job_key": job_key,
            "recipient": notice.recipient,
            "template": notice.template,
            "recorded_at": now,
        }
        await self._connection.execute(insert(notices).values(row))
        return True

    async def of_claim(self, claim_id: str) -> Sequence[Notice]:
        """The claim's notices, oldest first."""
        query = (
            select(notices.c.claim_id, notices.c.recipient, notices.c.template)
            .where(notices.c.claim_id == claim_id)
            .order_by(notices.c.notice_id)
        )
        return [Notice(*row) for row in await self._connection.execute(query)]
