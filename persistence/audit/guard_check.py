"""Whether the database still refuses to change the trail: its triggers are there, and no permit stands."""

from collections.abc import AsyncIterator

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from persistence.tables import audit_permits

TABLES = ("audit_events", "audit_anchors", "policies", "adopted_policies")
GUARDS = {"postgresql": ("append_only", "no_truncate"), "sqlite": ("no_update", "no_delete")}
TRIGGERS = {
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
}


async def open_gaps(connection: AsyncConnection) -> AsyncIterator[tuple[str, str]]:
    """Where the trail could be changed, and why; retention's own permits are never committed."""
    for permit in (await connection.execute(select(audit_permits.c.permit))).scalars():
        yield "audit_permits", f"a permit stands ({permit}): with it rows can be changed; remove it"
    dialect = connection.dialect.name
    present = set((await connection.execute(text(TRIGGERS[dialect]))).scalars())
    for table in TABLES:
        for guard in GUARDS[dialect]:
            if f"{table}_{guard}" not in present:
                yield table, f"its guard {table}_{guard} is gone or off: rows may be changed"
