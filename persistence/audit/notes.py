"""What was done beside decisions, sealed into a chain: sends, acceptances, reviews, people's orders."""

from collections.abc import Mapping
from datetime import datetime

from persistence.audit.chain import AuditDraft, Head, seal
from persistence.audit.events import Audit
from persistence.database.canonical import canonical

NOTED = "NOTED"


class Notes:
    """Notes at the ends of chains, within the caller's transaction."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    async def add(self, chain: str, event: str, facts: Mapping[str, object], *, now: datetime) -> None:
        """Append what happened; never earlier than what stands before it, for retention cuts by time."""
        await self._audit.lock([chain])
        head = (await self._audit.heads([chain])).get(chain, Head())
        at = max(now, head.at) if head.at else now
        data = canonical({"event": event, **facts})
        await self._audit.append([seal(AuditDraft(chain, NOTED, at, 0, data), head)])
