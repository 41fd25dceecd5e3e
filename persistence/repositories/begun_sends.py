"""Sends between their beginning and their first byte, as they stand at this moment."""

from sqlalchemy import and_, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from domain.permission import BegunSend
from persistence.tables import claims, payer_sends, submission_attempts


class BegunSends:
    """Looks at one send and its claim in one statement."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def find(self, claim_id: str, attempt: int) -> BegunSend | None:
        """The send; None when its claim is not known here."""
        mine = and_(payer_sends.c.claim_id == claims.c.claim_id, payer_sends.c.attempt == attempt)
        newest = (
            select(func.max(submission_attempts.c.attempt))
            .where(submission_attempts.c.claim_id == claim_id)
            .scalar_subquery()
        )
        query = (
            select(claims.c.state, newest.label("newest"), payer_sends.c.until)
            .outerjoin_from(claims, payer_sends, mine)
            .where(claims.c.claim_id == claim_id)
        )
        row = (await self._connection.execute(query)).one_or_none()
        return row and BegunSend(attempt, ClaimState(row.state), row.newest or 0, row.until)
