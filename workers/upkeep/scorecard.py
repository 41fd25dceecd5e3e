"""The scorecard: each KPI of a period beside its targets, the period before and the ones that led to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from fractions import Fraction

from domain.kpis.definitions import KPIS, Kpi, Measure
from domain.kpis.periods import Frequency, Period, latest_complete, parts_of, run_up_to
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
        seen = {frequency: await _seen(tx, asked, frequency) for frequency in Frequency}
    scores = tuple(_score(kpi, seen[kpi.frequency]) for kpi in KPIS)
    tallies = {one.period: one.counted.tally for one in seen.values()}
    return Scorecard(scores, tuple(tallies.items()))


@dataclass(frozen=True, slots=True)
class _Seen:
    period: Period
    counted: Counted
    before: Counted
    parts: tuple[Counted, ...]


async def _seen(tx: Transaction, asked: AskedKpis, frequency: Frequency) -> _Seen:
    period, payer = asked.period(frequency), asked.payer_id
    parts, known = asked.parts(frequency), dict[Period, Counted]()
    for one in (*parts, period, period.before):
        if one not in known:
            known[one] = await tx.kpis.counted(one, payer)
    return _Seen(period, known[period], known[period.before], tuple(known[part] for part in parts))


def _score(kpi: Kpi, seen: _Seen) -> Score:
    line = tuple(kpi.measure(part).value for part in seen.parts)
    return Score(kpi, seen.period, kpi.measure(seen.counted), kpi.measure(seen.before), line)
