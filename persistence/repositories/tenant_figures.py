"""Where the turns of companies stand, as each worker has noted it: what a command can show of them."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.mail.fairness import TenantFairnessMetrics
from domain.mail.tenants import NotedTenant
from persistence.database.dialect import insert_into
from persistence.database.rows import row_of
from persistence.tables import tenant_figures as figures

FIELDS = tuple(TenantFairnessMetrics.__dataclass_fields__)


class TenantFigures:
    """Figures by worker and company; a worker writes its own alone."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def note(self, worker: str, tenants: Iterable[TenantFairnessMetrics], *, now: datetime) -> None:
        """Put a worker's figures in the place of what it noted before."""
        rows = [{"worker": worker, "noted_at": now, **row_of(one)} for one in tenants]
        if rows:
            new = insert_into(self._connection, figures)
            changed = {name: new.excluded[name] for name in (*FIELDS[1:], "noted_at")}
            keys = [figures.c.worker, figures.c.company_id]
            await self._connection.execute(new.on_conflict_do_update(index_elements=keys, set_=changed), rows)

    async def all(self) -> Sequence[NotedTenant]:
        """Everything that workers have noted."""
        columns = [figures.c[name] for name in FIELDS]
        rows = await self._connection.execute(select(figures.c.noted_at, *columns))
        return [NotedTenant(TenantFairnessMetrics(*row[1:]), row[0]) for row in rows]

    async def forget(self, *, before: datetime) -> int:
        """Remove what was noted before a moment, by workers that are gone or of companies without mail."""
        return (await self._connection.execute(delete(figures).where(figures.c.noted_at < before))).rowcount
