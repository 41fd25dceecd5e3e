"""Whether the trail begins where it was signed to, no day lacks its anchor, and no number is left out."""

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, timedelta

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.audit.anchor_check import OVERDUE_AFTER, AnchorCheck
from persistence.audit.anchors import Anchors
from persistence.audit.seals import Seals
from persistence.tables import audit_events

NONE = (
    "it has no beginning that is signed with a key that is set: its anchors were removed, a key is missing, "
    "or a trail of an earlier version was migrated without its keys; look, then order `reenvio audit begin`"
)
ANOTHER = (
    "its beginning is not the one that was noted outside the database, so it was removed or rewritten; "
    "if the database was made anew, remove its file audit-*.beginning from REENVIO_HOME"
)
SKIPPED: Mapping[str, int] = {"sqlite": 0, "postgresql": 1_000}
"""How many numbers in a row may be nobody's: PostgreSQL spends those of transactions that were undone."""


@dataclass(frozen=True, slots=True)
class BeginningCheck:
    """What the anchors that are there cannot tell by themselves; `noted` is the beginning's hash outside."""

    connection: AsyncConnection
    check: AnchorCheck
    noted: str | None = None

    async def problems(self, seals: Seals) -> AsyncIterator[tuple[str, str]]:
        """Where, and what."""
        last = await self.connection.scalar(select(func.max(audit_events.c.event_id)))
        if self.check.beginning is None and (last or self.check.anchors):
            yield "the trail", NONE
        for what in self._other_beginning():
            yield "the trail", what
        async for what in self._days_without_anchor(seals):
            yield "the trail", what
        async for what in self._numbers_left_out():
            yield "the trail", what

    def _other_beginning(self) -> Iterator[str]:
        there = {anchor.hash for anchor in self.check.anchors if anchor.is_beginning}
        if self.noted and self.noted not in there:
            yield ANOTHER

    async def _days_without_anchor(self, seals: Seals) -> AsyncIterator[str]:
        first = await Anchors(self.connection, seals).next_day()
        last = (self.check.now.astimezone(UTC) - OVERDUE_AFTER).date() - timedelta(days=1)
        if first and first <= last:
            days = f"day {first} has" if first == last else f"days {first}..{last} have"
            yield f"{days} no anchor: it was removed, or no worker has set one since"

    async def _numbers_left_out(self) -> AsyncIterator[str]:
        """Of events that no beginning and no pruned anchor holds; retention leaves out only older ones."""
        begun = self.check.beginning.last_event if self.check.beginning else 0
        known = max(self.check.pruned_through, begun or 0)
        number = audit_events.c.event_id
        before = func.coalesce(func.lag(number).over(order_by=number), known)
        steps = select(before.label("before"), number.label("number")).where(number > known).subquery()
        left_out = steps.c.number - steps.c.before - 1
        gaps = select(steps.c.before, steps.c.number).where(left_out > SKIPPED[self.connection.dialect.name])
        for low, high in await self.connection.execute(gaps.order_by(steps.c.number)):
            yield f"the events {low + 1} to {high - 1} are missing: they were removed"
