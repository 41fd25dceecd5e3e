"""Which keys the audit trail still needs beside the one that seals, and until which anchor."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.audit.anchors import Anchor, Anchors
from persistence.audit.seals import Judgement, Seals
from persistence.tables import audit_events as events


@dataclass(frozen=True, slots=True)
class KeyNeed:
    """A key by its name, the events that nothing proves without it, and the anchor that will.

    Without events it is needed for the newest anchor alone, which bears its signature.
    """

    name: str
    events: int
    until: date | None


class KeyNeeds:
    """Looks at keys that seal no more."""

    def __init__(self, connection: AsyncConnection, seals: Seals) -> None:
        self._connection = connection
        self._seals = seals
        self._anchors = Anchors(connection, seals)

    async def all(self) -> Sequence[KeyNeed]:
        """Every other key that is still needed; a missing one keeps the next anchor from being set."""
        current = self._seals.current
        signed = [anchor for anchor in await self._anchors.all() if self._is_signed(anchor)]
        names = (self._seals.keys.keys() | await self._open(signed)) - {current.name if current else ""}
        until = await self._anchors.next_day()
        counted = [(name, await self._count(name, signed)) for name in sorted(names)]
        signer = signed[-1].signed_with if signed else None
        return [KeyNeed(name, number, until) for name, number in counted if number or name == signer]

    def _is_signed(self, anchor: Anchor) -> bool:
        judged = self._seals.judge_anchor(anchor.hash, anchor.signature, anchor.signed_with)
        return judged is Judgement.TRUE

    async def _open(self, signed: Sequence[Anchor]) -> set[str]:
        """The keys of events that no anchor holds whose key is here."""
        query = select(events.c.seal_key).distinct().where(events.c.event_id > _through(signed))
        return {name for name in (await self._connection.execute(query)).scalars() if name}

    async def _count(self, name: str, signed: Sequence[Anchor]) -> int:
        proven = _through([anchor for anchor in signed if anchor.signed_with != name])
        query = select(func.count()).where(events.c.seal_key == name, events.c.event_id > proven)
        return await self._connection.scalar(query) or 0


def _through(signed: Sequence[Anchor]) -> int:
    return max((anchor.last_event or 0 for anchor in signed), default=0)
