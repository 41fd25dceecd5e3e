"""What was done beside decisions, sealed into a chain: sends, acceptances, reviews, people's orders."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from persistence.audit.chain import AuditDraft, AuditEvent, Head, seal
from persistence.audit.events import Audit
from persistence.database.canonical import canonical
from persistence.repositories.noting import Note

NOTED = "NOTED"


class Notes:
    """Notes at the ends of chains, within the caller's transaction."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    async def add(self, chain: str, event: str, facts: Mapping[str, object], *, now: datetime) -> None:
        """Append what happened."""
        await self.add_all([Note(chain, event, facts, now)])

    async def add_all(self, notes: Iterable[Note]) -> None:
        """Append what happened, each to its chain."""
        if not (written := list(notes)):
            return
        chains = {note.chain for note in written}
        await self._audit.lock(chains)
        heads = dict(await self._audit.heads(chains))
        sealed = []
        for note in written:
            event = _event(note, heads.get(note.chain, Head()))
            heads[note.chain] = Head(event.sequence, event.hash, event.at)
            sealed.append(event)
        await self._audit.append(sealed)


def _event(note: Note, head: Head) -> AuditEvent:
    """Never earlier than what stands before it, for retention cuts by time."""
    at = max(note.at, head.at) if head.at else note.at
    data = canonical({"event": note.event, **note.facts})
    return seal(AuditDraft(note.chain, NOTED, at, 0, data), head)
