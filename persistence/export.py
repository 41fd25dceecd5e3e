"""Everything kept about one claim, as plain records: for a person's access request (LGPD art. 18)."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.tables import (
    audit_events,
    claim_events,
    claim_payloads,
    claims,
    legal_holds,
    notices,
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
    reviews,
    notices,
    claim_events,
    audit_events,
    outbox,
    legal_holds,
)


class Export:
    """All records of a claim."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def lines(self, claim_id: str) -> AsyncIterator[str]:
        """JSON Lines, each with the table it is from, in a stable order."""
        for table in TABLES:
            query = select(table).where(table.c.claim_id == claim_id).order_by(*table.primary_key.columns)
            for row in await self._connection.execute(query):
                record = {"record": table.name} | dict(row._mapping)
                yield json.dumps(record, ensure_ascii=False, default=_plain)


def _plain(value: object) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
