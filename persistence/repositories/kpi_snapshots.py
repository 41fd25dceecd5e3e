"""KPIs as they stood when they were last counted: one row per KPI, period and payer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.kpis.definitions import KPIS, KpiName, Measure
from domain.kpis.periods import Frequency
from domain.readings import Reading
from persistence.database.dialect import insert_into
from persistence.database.rows import row_of
from persistence.tables import kpi_snapshots as snapshots

ALL_PAYERS = ""
AHEAD = timedelta(minutes=5)
"""What is dated further ahead than this was counted by a wrong clock."""
KEY = ("kpi", "frequency", "first_day", "payer_id")


@dataclass(frozen=True, slots=True)
class KpiSnapshot:
    """What a KPI came to in the period that begins on a day, for a payer or, without one, for all."""

    kpi: KpiName
    frequency: Frequency
    first_day: date
    payer_id: str
    measure: Measure
    taken_at: datetime


class KpiSnapshots:
    """Keeps and reads snapshots."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def keep(self, taken: Iterable[KpiSnapshot]) -> None:
        """Put them down; what was counted for the same period before is replaced."""
        if rows := [_row(one) for one in taken]:
            new = insert_into(self._connection, snapshots)
            later = {c.name: new.excluded[c.name] for c in snapshots.columns if c.name not in KEY}
            await self._connection.execute(
                new.on_conflict_do_update(index_elements=list(KEY), set_=later), rows
            )

    async def forget_ahead(self, *, now: datetime) -> int:
        """Remove what was counted later than now, by clocks that were ahead; how many rows."""
        return (await self._connection.execute(delete(snapshots).where(~_is_past(now)))).rowcount

    async def last_taken_at(self, *, now: datetime) -> datetime | None:
        """When any was taken last."""
        mine = (snapshots.c.payer_id == ALL_PAYERS) & _is_past(now)
        found: datetime | None = await self._connection.scalar(
            select(func.max(snapshots.c.taken_at)).where(mine)
        )
        return found

    async def latest(self, payer_id: str = ALL_PAYERS, *, now: datetime) -> Sequence[KpiSnapshot]:
        """Of each KPI the period that was counted last."""
        found: list[KpiSnapshot] = []
        for frequency in Frequency:
            mine = (snapshots.c.payer_id == payer_id) & (snapshots.c.frequency == frequency) & _is_past(now)
            newest = select(func.max(snapshots.c.first_day)).where(mine).scalar_subquery()
            query = select(snapshots).where(mine, snapshots.c.first_day == newest)
            found.extend([_read(dict(row._mapping)) for row in await self._connection.execute(query)])
        return found

    async def since(self, first_day: date, payer_id: str = ALL_PAYERS) -> Sequence[KpiSnapshot]:
        """All that were counted for periods from a day on, oldest first."""
        found: list[KpiSnapshot] = []
        for frequency in Frequency:
            mine = (snapshots.c.payer_id == payer_id) & (snapshots.c.frequency == frequency)
            query = select(snapshots).where(mine, snapshots.c.first_day >= first_day)
            rows = await self._connection.execute(query.order_by(snapshots.c.first_day))
            found.extend([_read(dict(row._mapping)) for row in rows])
        return found

    async def of_period(self, frequency: Frequency, first_day: date) -> Sequence[KpiSnapshot]:
        """All that was counted for one period: over all payers, and of each."""
        names = [kpi.name.value for kpi in KPIS if kpi.frequency is frequency]
        mine = (snapshots.c.frequency == frequency) & (snapshots.c.first_day == first_day)
        query = select(snapshots).where(snapshots.c.kpi.in_(names), mine)
        return [_read(dict(row._mapping)) for row in await self._connection.execute(query)]

    async def readings(self, *, now: datetime) -> Sequence[Reading]:
        """`reenvio_kpi` from the latest snapshots where it has a value, and `reenvio_kpi_target`."""
        values = {one.kpi: one for one in await self.latest(now=now)}
        return [*_values(values), *_targets()]


def _is_past(now: datetime) -> ColumnElement[bool]:
    return snapshots.c.taken_at <= now + AHEAD


def _values(latest: dict[KpiName, KpiSnapshot]) -> Iterable[Reading]:
    for kpi in KPIS:
        value = latest[kpi.name].measure.value if kpi.name in latest else None
        for target in kpi.targets if value is not None else ():
            labels = {"kpi": kpi.name.value, "rule": target.rule, "period": kpi.frequency.value}
            yield Reading("reenvio_kpi", float(value or 0), labels)


def _targets() -> Iterable[Reading]:
    for kpi in KPIS:
        for target in kpi.targets:
            labels = {"kpi": kpi.name.value, "rule": target.rule}
            yield Reading("reenvio_kpi_target", float(target.value), labels)


def _row(one: KpiSnapshot) -> dict[str, Any]:
    values = row_of(one)
    return values | row_of(values.pop("measure"))


def _read(values: dict[str, Any]) -> KpiSnapshot:
    measure = Measure(**{name: values.pop(name) for name in Measure.__dataclass_fields__})
    kpi, frequency = KpiName(values.pop("kpi")), Frequency(values.pop("frequency"))
    return KpiSnapshot(kpi=kpi, frequency=frequency, measure=measure, **values)
