"""Claims: one row each, saying where it stands."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.claim_state import ClaimState
from persistence.rows import row_of
from persistence.tables import claims


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A claim as stored."""

    claim_id: str
    payer_id: str
    state: ClaimState
    retry_count: int
    next_retry_time: datetime | None
    protocol_number: str | None
    reason: str | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Move:
    """Where a decision takes a claim."""

    claim_id: str
    state: ClaimState
    retry_count: int
    next_retry_time: datetime | None
    reason: str
    updated_at: datetime


_MOVED: dict[str, object] = {
    name: bindparam(f"to_{name}") for name in Move.__dataclass_fields__ if name != "claim_id"
}


class Claims:
    """Claims by id and by state."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def find(self, claim_id: str) -> ClaimRow | None:
        """The claim, or None."""
        found = await self._connection.execute(select(claims).where(claims.c.claim_id == claim_id))
        row = found.one_or_none()
        return None if row is None else _claim(row)

    async def all(self) -> Sequence[ClaimRow]:
        """Every claim, by id."""
        rows = await self._connection.execute(select(claims).order_by(claims.c.claim_id))
        return [_claim(row) for row in rows]

    async def put(self, claim_id: str, payer_id: str, state: ClaimState, *, now: datetime) -> None:
        """Create the claim in a state, or move it there."""
        if await self.move(claim_id, state, now=now, payer_id=payer_id):
            return
        row = {"claim_id": claim_id, "payer_id": payer_id, "state": state}
        await self._connection.execute(insert(claims).values(row | {"created_at": now, "updated_at": now}))

    async def move(self, claim_id: str, state: ClaimState, *, now: datetime, **changes: object) -> bool:
        """Move a known claim to a state; False when there is no such claim.

        A wait belongs to one state only: without a new one, `next_retry_time` is cleared.
        """
        values = {"state": state, "updated_at": now, "next_retry_time": None} | changes
        done = await self._connection.execute(
            update(claims).where(claims.c.claim_id == claim_id).values(values)
        )
        return done.rowcount == 1

    async def move_all(self, moves: Iterable[Move]) -> None:
        """Move several claims at once; those that are not known here stay unknown."""
        statement = update(claims).where(claims.c.claim_id == bindparam("to_claim_id")).values(_MOVED)
        rows = [{f"to_{name}": value for name, value in row_of(move).items()} for move in moves]
        await self._connection.execute(statement, rows)


def _claim(row: Row[Any]) -> ClaimRow:
    return ClaimRow(
        claim_id=row.claim_id,
        payer_id=row.payer_id,
        state=ClaimState(row.state),
        retry_count=row.retry_count,
        next_retry_time=row.next_retry_time,
        protocol_number=row.protocol_number,
        reason=row.reason,
        updated_at=row.updated_at,
    )
