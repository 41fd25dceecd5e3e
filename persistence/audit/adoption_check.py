"""Whether the adopted policies on record are those that were sealed, and no other."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.retention import LOG_YEARS_AT_LEAST, YEAR
from persistence.audit.chain import AuditEvent
from persistence.audit.event_data import event_data
from persistence.audit.notes import NOTED
from persistence.repositories.adopted_policies import (
    ADOPTED,
    OWN_POLICY,
    UNDONE,
    AdoptedPolicies,
    KeptAdoption,
)
from persistence.repositories.noting import Noting
from persistence.tables import adopted_policies as adopted


@dataclass(slots=True)
class AdoptionCheck:
    """Gathers adoptions while the chains are read, then holds the records against them.

    Records from before `since` may have lost their events to retention.
    """

    since: datetime
    sealed: dict[int, tuple[datetime, Mapping[str, object]]] = field(default_factory=dict)

    def see(self, chain: Sequence[AuditEvent]) -> None:
        """Take the adoptions out of a chain."""
        for event in chain:
            if event.event == NOTED and '"adoption":' in event.data:
                self._take(event, event_data(event))

    def _take(self, event: AuditEvent, data: dict[str, Any]) -> None:
        number, name = data.pop("adoption", None), data.pop("event", None)
        if isinstance(number, int) and name in (ADOPTED, UNDONE):
            self.sealed[number] = event.at, {"event": name, **data}

    async def problems(
        self, connection: AsyncConnection, notes: Noting, now: datetime
    ) -> AsyncIterator[tuple[str, str]]:
        """Where, and what; adoptions are never removed."""
        numbers = await connection.scalars(select(adopted.c.adoption_id).order_by(adopted.c.adoption_id))
        kept, before = set(numbers.all()), OWN_POLICY
        for number in sorted(kept):
            row = await AdoptedPolicies(connection, notes).find(number)
            for what in self._differences(row, before) if row else ():
                yield f"adopted policy {number}", what
            before = number
        due = now - LOG_YEARS_AT_LEAST * YEAR
        for number in sorted(self.sealed.keys() - kept):
            if self.sealed[number][0] >= due:
                yield f"adopted policy {number}", "it was removed; the trail still tells of it"

    def _differences(self, row: KeptAdoption, before: int) -> Iterator[str]:
        if not row.is_whole:
            yield "its document is not the one that was adopted"
        if row.replaces != before:
            yield f"it says that it replaces {row.replaces}, and stands after {before}"
        sealed = self.sealed.get(row.adoption_id)
        if sealed is None:
            if row.at >= self.since:
                yield "no event tells of it: it was put in, or its event was removed"
            return
        if sealed[1] != {"event": row.event, **row.facts}:
            yield f"it was changed: {sealed[1].get('policy')} by {sealed[1].get('by')} was sealed"
