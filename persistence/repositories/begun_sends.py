"""Sends between their beginning and their first byte, as they stand at this moment."""

from collections.abc import Mapping

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from domain.permission import BegunSend
from persistence.database.dialect import among
from persistence.tables import claims, payer_sends, submission_attempts


class BegunSends:
    """Looks at sends and their claims in one statement."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def find(self, claim_id: str, attempt: int) -> BegunSend | None:
        """The send; None when its claim is not known here."""
        return (await self.find_all({claim_id: attempt})).get(claim_id)

    async def find_all(self, numbers: Mapping[str, int]) -> Mapping[str, BegunSend]:
        """The sends of these numbers, one of each claim; those of claims that are known here."""
        newest = (
            select(func.max(submission_attempts.c.attempt))
            .where(submission_attempts.c.claim_id == claims.c.claim_id)
            .scalar_subquery()
        )
        columns = (claims.c.claim_id, claims.c.state, newest.label("newest"))
        query = (
            select(*columns, payer_sends.c.attempt, payer_sends.c.until)
            .outerjoin_from(claims, payer_sends, payer_sends.c.claim_id == claims.c.claim_id)
            .where(among(self._connection, claims.c.claim_id, numbers))
        )
        found: dict[str, BegunSend] = {}
        for row in await self._connection.execute(query):
            number = numbers[row.claim_id]
            if row.claim_id not in found or row.attempt == number:
                until = row.until if row.attempt == number else None
                found[row.claim_id] = BegunSend(number, ClaimState(row.state), row.newest or 0, until)
        return found
