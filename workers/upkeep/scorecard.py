"""The scorecard: each KPI of a period beside its targets, the period before and the ones that led to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from fractions import Fraction

from domain.kpis.definitions import KPIS, Kpi, Measure
from domain.kpis.periods import Frequency, Period, cut_at, latest_complete, parts_of, run_up_to
from domain.kpis.tally import Counted, KpiTally
from domain.kpis.wording import Trend, trend
from persistence.store import Store, Transaction

PARTS = 8
"""How many periods the line of bars shows."""


@dataclass(frozen=True, slots=True)
class AskedKpis:
    """Which KPIs: of a run of days or, without one, of the last day and week that are over; of a payer?"""

    zone: tzinfo
    now: datetime
    days: tuple[date, date] | None = None
    payer_id: str | None = None

    def period(self, frequency: Frequency) -> Period:
        """What is shown of KPIs of this frequency."""
        return Period(*self.days, self.zone) if self.days else latest_complete(frequency, self.now, self.zone)

    def parts(self, frequency: Frequency) -> Sequence[Period]:
        """What the bars show."""
        period = self.period(frequency)
        return parts_of(period, frequency, PARTS) if self.days else run_up_to(period, PARTS)


@dataclass(frozen=True, slots=True)
class Score:
    """One KPI: what it came to, before that, and in the parts that the bars show."""

    kpi: Kpi
    period: Period
    measure: Measure
    before: Measure
    line: tuple[Fraction | None, ...]

    @property
    def trend(self) -> Trend | None:
        """Beside the period before."""
        return trend(self.measure.value, self.before.value)


@dataclass(frozen=True, slots=True)
class Scorecard:
    """All scores, and what was counted in the periods they are of."""

    scores: tuple[Score, ...]
    tallies: tuple[tuple[Period, KpiTally], ...]

    @property
    def is_empty(self) -> bool:
        """Whether no claim failed in any of the periods."""
        return all(tally.is_empty for _, tally in self.tallies)


async def scorecard(store: Store, asked: AskedKpis) -> Scorecard:
    """Count what is asked, at one moment."""
    async with store.reading() as tx:
        counting = _Counting(tx, asked, {})
        seen = {frequency: await counting.seen(frequency) for frequency in Frequency}
    scores = tuple(_score(kpi, seen[kpi.frequency]) for kpi in KPIS)
    tallies = {one.period: one.counted.tally for one in seen.values()}
    return Scorecard(scores, tuple(tallies.items()))


@dataclass(frozen=True, slots=True)
class _Seen:
    period: Period
    counted: Counted
    before: Counted
    parts: tuple[Counted, ...]


@dataclass(frozen=True, slots=True)
class _Counting:
    """Counts at one moment, nothing twice."""

    tx: Transaction
    asked: AskedKpis
    tallies: dict[Period, KpiTally]

    async def seen(self, frequency: Frequency) -> _Seen:
        period, parts = self.asked.period(frequency), self.asked.parts(frequency)
        counted = tuple([await self._counted(part, frequency) for part in parts])
        before = await self._counted(period.before, frequency)
        return _Seen(period, await self._counted(period, frequency), before, counted)

    async def _counted(self, period: Period, frequency: Frequency) -> Counted:
        """Only daily KPIs ask for what lies in the middle."""
        tally = await self._tally(period)
        is_asked = frequency is Frequency.DAILY and tally.timed
        return Counted(tally, await self.tx.kpis.middle(period, self.asked.payer_id) if is_asked else None)

    async def _tally(self, period: Period) -> KpiTally:
        if period not in self.tallies:
            self.tallies[period] = await self._count(period)
        return self.tallies[period]

    async def _count(self, period: Period) -> KpiTally:
        """A run of days is the sum of the weeks that the bars show, and of the rest."""
        weeks = self.asked.parts(Frequency.WEEKLY)
        if self.asked.days is None or period != self.asked.period(Frequency.WEEKLY) or period in weeks:
            return await self.tx.kpis.tally(period, self.asked.payer_id)
        return sum([await self._tally(piece) for piece in cut_at(period, weeks)], KpiTally())


def _score(kpi: Kpi, seen: _Seen) -> Score:
    line = tuple(kpi.measure(part).value for part in seen.parts)
    return Score(kpi, seen.period, kpi.measure(seen.counted), kpi.measure(seen.before), line)
