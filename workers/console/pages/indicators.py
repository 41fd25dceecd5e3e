"""Indicators: all KPIs of a period beside their targets, and the claims behind one of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from starlette.responses import Response

from domain.kpis.definitions import KPIS, Kpi, KpiName, Measure
from domain.kpis.periods import A_DAY, Frequency, Period, period_of
from domain.kpis.tally import Counted
from persistence.repositories.kpi_snapshots import ALL_PAYERS, KpiSnapshot
from persistence.store import Transaction
from workers.console.pages.visit import Visit, render, times_of
from workers.console.views.indicator_board import (
    AskedBoard,
    SeenKpis,
    behind_lines,
    cards,
    payer_table,
    period_name,
    read_board,
    targets_met,
)

LINE_SPAN = timedelta(days=84)
"""How far back lines go: twelve weeks, of days the last thirty."""
DAYS_SHOWN = timedelta(days=30)
BEHIND_MOST = 200


async def indicators_page(visit: Visit) -> Response:
    """The board."""
    asked = read_board(visit.request.query_params)
    seen, payers = await visit.console.store.look(lambda tx: _Counting(tx, visit, asked).seen())
    shown = cards(seen, asked, visit.words)
    return render(
        visit,
        "indicators.html",
        asked=asked,
        cards=shown,
        sums=targets_met(shown),
        payers=payers,
        units=list(Frequency),
        rows=() if asked.payer else payer_table(seen, asked, visit.words),
        is_empty=seen.is_empty,
        **_beside(visit, asked),
    )


@dataclass(frozen=True, slots=True)
class _Counting:
    """Counts what is shown anew, and reads what stands beside it from the daily snapshots where there are."""

    tx: Transaction
    visit: Visit
    asked: AskedBoard

    async def seen(self) -> tuple[SeenKpis, list[str]]:
        periods = {one: self._period(one) for one in Frequency}
        measures: dict[KpiName, Measure] = {}
        before: dict[KpiName, Measure] = {}
        by_payer: dict[str, dict[KpiName, Measure]] = {}
        for frequency, period in periods.items():
            kpis = [kpi for kpi in KPIS if kpi.frequency is frequency]
            measures |= await self._counted(kpis, period)
            before |= await self._kept(kpis, period.before) or await self._counted(kpis, period.before)
            for payer, mine in (await self._each(kpis, period)).items():
                by_payer[payer] = by_payer.get(payer, {}) | mine
        names = [one.payer_id for one in await self.tx.payers.all()]
        return SeenKpis(periods, measures, before, by_payer, await self._line(periods)), names

    def _period(self, frequency: Frequency) -> Period:
        return self.asked.period(frequency, self.visit.now, self.visit.console.zone)

    async def _counted(self, kpis: Sequence[Kpi], period: Period) -> dict[KpiName, Measure]:
        """Counted now; only KPIs that a rule looks at daily ask for what lies in the middle."""
        payer, kpis_of_days = self.asked.payer or None, kpis[0].frequency is Frequency.DAILY
        tally = await self.tx.kpis.tally(period, payer)
        middle = await self.tx.kpis.middle(period, payer) if kpis_of_days and tally.timed else None
        return {kpi.name: kpi.measure(Counted(tally, middle)) for kpi in kpis}

    async def _kept(self, kpis: Sequence[Kpi], period: Period) -> dict[KpiName, Measure]:
        """As it was counted when it was last; nothing for a period that nobody kept."""
        return {one.kpi: one.measure for one in await self._snapshots(kpis, period, self.asked.payer)}

    async def _each(self, kpis: Sequence[Kpi], period: Period) -> Mapping[str, dict[KpiName, Measure]]:
        if self.asked.payer:
            return {}
        found: dict[str, dict[KpiName, Measure]] = {}
        kept = await self._snapshots(kpis, period, None)
        for one in kept:
            found.setdefault(one.payer_id, {})[one.kpi] = one.measure
        found.pop(ALL_PAYERS, None)
        if kept:
            return found
        counted = await self.tx.kpis.by_payer(period)
        return {payer: {kpi.name: kpi.measure(one) for kpi in kpis} for payer, one in counted.items()}

    async def _snapshots(
        self, kpis: Sequence[Kpi], period: Period, payer: str | None
    ) -> Sequence[KpiSnapshot]:
        frequency = kpis[0].frequency
        if period != period_of(frequency, period.first, period.zone):
            return ()
        kept = await self.tx.kpi_snapshots.of_period(frequency, period.first)
        return [one for one in kept if payer in (None, one.payer_id)]

    async def _line(self, periods: Mapping[Frequency, Period]) -> Sequence[KpiSnapshot]:
        last = max(period.last for period in periods.values())
        return [
            one
            for one in await self.tx.kpi_snapshots.since(last - LINE_SPAN, self.asked.payer)
            if one.first_day <= last
            and (one.frequency is Frequency.WEEKLY or one.first_day > last - DAYS_SHOWN)
        ]


def _beside(visit: Visit, asked: AskedBoard) -> dict[str, object]:
    """Where the period before and the one after are found."""
    if not asked.unit:
        return {"earlier": "", "later": "", "period": ""}
    period = asked.period(Frequency(asked.unit), visit.now, visit.console.zone)
    following = period.last + A_DAY
    is_there = visit.now.astimezone(visit.console.zone).date() >= following
    return {
        "earlier": replace(asked, day=period.before.first.isoformat()).address(),
        "later": replace(asked, day=following.isoformat()).address() if is_there else "",
        "period": period_name(period, visit.words),
    }


async def claims_behind(visit: Visit) -> Response:
    """The claims behind one KPI, as `reenvio kpi --claims` lists them."""
    name = visit.request.path_params["kpi"]
    if name not in set(KpiName):
        return render(visit, "error.html", 404, message="error.not_found", status=404)
    [kpi] = [one for one in KPIS if one.name == name]
    asked = read_board(visit.request.query_params)
    period = asked.period(kpi.frequency, visit.now, visit.console.zone)
    found = await visit.console.store.look(
        lambda tx: tx.kpis.behind(kpi.name, period, asked.payer or None, BEHIND_MOST + 1)
    )
    return render(
        visit,
        "indicator.html",
        kpi=kpi.name,
        asked=asked,
        period=period_name(period, visit.words),
        lines=behind_lines(found[:BEHIND_MOST], times_of(visit)),
        has_more=len(found) > BEHIND_MOST,
        most=BEHIND_MOST,
    )
