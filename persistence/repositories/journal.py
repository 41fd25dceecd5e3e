"""The journal: what happened to which claim, in order, in words without patient data; each line is sealed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.database.rows import row_of
from persistence.repositories.noting import Note, Noting
from persistence.tables import claim_events as events

RETRY_SCHEDULED = "retry_scheduled"
GIVEN_UP = "given_up"
CORRECTED = "corrected"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One thing that happened to a claim."""

    sequence: int
    claim_id: str
    at: datetime
    event: str
    detail: str


@dataclass(frozen=True, slots=True)
class JournalNote:
    """An entry before it is written."""

    claim_id: str
    at: datetime
    event: str
    detail: str


class Journal:
    """Entries in the order they were written."""

    def __init__(self, connection: AsyncConnection, notes: Noting) -> None:
        self._connection = connection
        self._notes = notes

    async def write(self, claim_id: str, event: str, detail: str, *, now: datetime) -> None:
        """Append an entry, and note it in the claim's audit trail."""
        await self.write_several([JournalNote(claim_id, now, event, detail)])

    async def write_several(self, notes: Sequence[JournalNote]) -> None:
        """Append entries, and note each in its claim's audit trail."""
        if notes:
            await self.write_all(notes)
            await self._notes.add_all(Note(n.claim_id, n.event, {"detail": n.detail}, n.at) for n in notes)

    async def write_all(self, notes: Iterable[JournalNote]) -> None:
        """Append the entries of decisions and orders, which the trail holds already."""
        await self._connection.execute(insert(events), [row_of(note) for note in notes])

    async def since(self, sequence: int, limit: int = 200) -> Sequence[JournalEntry]:
        """Entries after a sequence number, oldest first."""
        query = select(events).where(events.c.sequence > sequence).order_by(events.c.sequence).limit(limit)
        return [
            JournalEntry(row.sequence, row.claim_id, row.at, row.event, row.detail)
            for row in await self._connection.execute(query)
        ]

    async def of_claim(self, claim_id: str) -> Sequence[JournalEntry]:
        """A claim's story."""
        query = select(events).where(events.c.claim_id == claim_id).order_by(events.c.sequence)
        return [
            JournalEntry(row.sequence, row.claim_id, row.at, row.event, row.detail)
            for row in await self._connection.execute(query)
        ]
