"""Somebody with every right in the database who knows our code, but not our keys."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlalchemy import Table, delete, insert, text, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from persistence.audit.anchors import Anchors, seal_of
from persistence.audit.chain import GENESIS, AuditDraft, AuditEvent, Head, seal
from persistence.audit.events import Audit
from persistence.tables import audit_anchors, audit_events, claim_events, outbox, retry_decisions

PERMITS = "INSERT INTO audit_permits VALUES ('audit_events:UPDATE'), ('audit_events:DELETE'), ('audit_anchors:UPDATE'), ('audit_anchors:DELETE')"  # noqa: E501
EVERYWHERE: tuple[Table, ...] = (audit_events, retry_decisions, claim_events, outbox)
"""All that tells of a claim's decisions."""
Forgery = Callable[[AuditEvent], AuditEvent]


@dataclass(frozen=True, slots=True)
class Attacker:
    """What can be done with SQL; no trace stays but the one that is in the seals."""

    database: AsyncEngine

    async def sql(self, *statements: str) -> None:
        """Run statements where the guards let them."""
        async with self.database.begin() as connection:
            for statement in (PERMITS, *statements, "DELETE FROM audit_permits"):
                await connection.execute(text(statement))

    async def rewrite(self, claim_id: str, forgery: Forgery) -> None:
        """Change events of a claim, and make its whole chain fit again."""
        async with self.database.begin() as connection:
            await connection.execute(text(PERMITS))
            head = Head()
            for event in map(forgery, await Audit(connection).of_claim(claim_id)):
                sealed = seal(
                    AuditDraft(event.claim_id, event.event, event.at, event.job_key, event.data), head
                )
                await self._replace(connection, claim_id, sealed)
                head = Head(sealed.sequence, sealed.hash)
            await connection.execute(text("DELETE FROM audit_permits"))

    async def _replace(self, connection: AsyncConnection, claim_id: str, event: AuditEvent) -> None:
        values = {name: getattr(event, name) for name in ("claim_id", "data", "at", "previous_hash", "hash")}
        mine = (audit_events.c.claim_id == claim_id) & (audit_events.c.sequence == event.sequence)
        await connection.execute(update(audit_events).where(mine).values(values))

    async def forge(self, *drafts: AuditDraft) -> None:
        """Append events as our code would, without its keys."""
        async with self.database.begin() as connection:
            audit = Audit(connection)
            for draft in drafts:
                head = (await audit.heads([draft.claim_id])).get(draft.claim_id, Head())
                await audit.append([seal(draft, head)])

    async def remove(self, claim_id: str, tables: tuple[Table, ...] = EVERYWHERE) -> None:
        """Remove all that tells of a claim."""
        async with self.database.begin() as connection:
            await connection.execute(text(PERMITS))
            for table in tables:
                await connection.execute(delete(table).where(table.c.claim_id == claim_id))
            await connection.execute(text("DELETE FROM audit_permits"))

    async def anchor_anew(self) -> None:
        """Make all anchors fit the events that are there, one after the other."""
        async with self.database.begin() as connection:
            await connection.execute(text(PERMITS))
            previous = GENESIS
            for anchor in await Anchors(connection).all():
                found = await Audit(connection).digest_between(
                    anchor.first_event or 0, anchor.last_event or 0
                )
                draft = replace(anchor, digest=found.digest, events=found.events, previous_hash=previous)
                forged = replace(draft, hash=seal_of(draft))
                row = {name: getattr(forged, name) for name in ("digest", "events", "previous_hash", "hash")}
                mine = audit_anchors.c.day == anchor.day
                await connection.execute(update(audit_anchors).where(mine).values(row))
                previous = forged.hash
            await connection.execute(text("DELETE FROM audit_permits"))

    async def keep_a_copy(self, table: Table) -> list[dict[str, object]]:
        """The rows of a table, to put them back later."""
        async with self.database.connect() as connection:
            return [dict(row._mapping) for row in await connection.execute(table.select())]

    async def put_back(self, table: Table, rows: list[dict[str, object]]) -> None:
        """A table as it was."""
        async with self.database.begin() as connection:
            await connection.execute(text(PERMITS))
            await connection.execute(delete(table))
            await connection.execute(insert(table), rows)
            await connection.execute(text("DELETE FROM audit_permits"))
