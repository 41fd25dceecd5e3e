"""Everything kept about one claim, as plain records: for a person's access request (LGPD art. 18)."""

import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.tables import (
    audit_events,
    claim_events,
    claim_payloads,
    claims,
    first_rounds,
    legal_holds,
    notices,
    operator_orders,
    outbox,
    retry_decisions,
    reviews,
    submission_attempts,
)

TABLES = (
    claims,
    claim_payloads,
    submission_attempts,
    retry_decisions,
    first_rounds,
    reviews,
    notices,
    claim_events,
    audit_events,
    outbox,
    operator_orders,
    legal_holds,
)
Opened = Callable[[str], str]
"""The text of a file from its ciphertext."""


class Export:
    """All records of a claim; the hashes of its guides tell nobody anything, and are others' too."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def knows(self, claim_id: str) -> bool:
        """Whether anything is kept about a claim, but for holds and orders."""
        for table in TABLES:
            of_claim = select(table.c.claim_id).where(table.c.claim_id == claim_id).limit(1)
            if table not in (legal_holds, operator_orders) and await self._connection.scalar(of_claim):
                return True
        return False

    async def lines(self, claim_id: str, opened: Opened) -> AsyncIterator[str]:
        """JSON Lines, each with the table it is from, in a stable order; files as `opened` reads them."""
        for table in TABLES:
            query = select(table).where(table.c.claim_id == claim_id).order_by(*table.primary_key.columns)
            for row in await self._connection.execute(query):
                record = {"record": table.name} | _readable(row, opened)
                yield json.dumps(record, ensure_ascii=False, default=_plain)


def _readable(row: Row[Any], opened: Opened) -> dict[str, object]:
    values = dict(row._mapping)
    return values | {"content": opened(values.pop("ciphertext"))} if "ciphertext" in values else values


def _plain(value: object) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
