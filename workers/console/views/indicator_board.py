"""The indicators on a board: value beside targets, how it moved, whose claims are behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, tzinfo
from fractions import Fraction
from urllib.parse import quote, urlencode

from markupsafe import Markup

from domain.kpis.definitions import KPIS, SECOND_US, Kpi, KpiName, Measure, Target, Unit
from domain.kpis.periods import Frequency, Period, latest_complete, period_of
from domain.kpis.wording import target_told, told, trend
from domain.legible import printable_line
from persistence.repositories.kpi_snapshots import KpiSnapshot
from persistence.repositories.kpis import ClaimBehind
from workers.console.views.shapes import StateShape, StateView, Tone
from workers.console.views.times import Said, Times
from workers.console.views.trends import TrendPoint, TrendTarget, trend_line
from workers.console.words import Words

PATH = "/indicators"
PAYER_MOST = 64
NOTHING = Measure(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class AskedBoard:
    """What the address asks for: a payer, or all; a day or week, or what each rule looks at."""

    payer: str = ""
    unit: str = ""
    day: str = ""

    def address(self, path: str = PATH) -> str:
        """Where the same is found again."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        kept = {name: value for name, value in given.items() if value}
        return f"{path}?{urlencode(kept)}" if kept else path

    def period(self, frequency: Frequency, now: datetime, zone: tzinfo) -> Period:
        """What is shown of KPIs that a rule looks at so often."""
        if not self.unit:
            return latest_complete(frequency, now, zone)
        unit = Frequency(self.unit)
        latest = latest_complete(unit, now, zone)
        chosen = period_of(unit, date.fromisoformat(self.day), zone) if self.day else latest
        return chosen if chosen.start <= now else latest


def read_board(query: Mapping[str, str]) -> AskedBoard:
    """What an address asks for; what it does not understand is left out."""
    unit, day = query.get("unit", ""), query.get("day", "")
    known = unit if unit in set(Frequency) else ""
    payer = printable_line(query.get("payer", ""))[:PAYER_MOST].strip()
    return AskedBoard(payer, known, _day(day) if known else "")


def _day(text: str) -> str:
    """A day far enough from the ends of the calendar to have neighbours."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return ""
    return day.isoformat() if 2000 <= day.year <= 2999 else ""


@dataclass(frozen=True, slots=True)
class KpiCard:
    """One KPI of one period."""

    name: str
    title: str
    means: str
    period: str
    value: str
    targets: Sequence[StateView]
    moved: str
    of: str
    running: int
    link: str
    line: Markup
    table: Sequence[TrendPoint]


@dataclass(frozen=True, slots=True)
class KpiCell:
    """One payer's value of a KPI."""

    value: str
    met: StateView | None


@dataclass(frozen=True, slots=True)
class KpiPayerRow:
    """One payer's values, in the order of the cards."""

    payer: str
    link: str
    cells: Sequence[KpiCell]


@dataclass(frozen=True, slots=True)
class SeenKpis:
    """What was counted: the periods by how often a rule looks, and each KPI now, before, and by payer."""

    periods: Mapping[Frequency, Period]
    measures: Mapping[KpiName, Measure]
    before: Mapping[KpiName, Measure]
    by_payer: Mapping[str, Mapping[KpiName, Measure]]
    snapshots: Sequence[KpiSnapshot]

    @property
    def is_empty(self) -> bool:
        """Whether no claim failed that could be measured, or still may."""
        return not any(one.claims or one.running for one in self.measures.values())


def period_name(period: Period, words: Words) -> str:
    """A day, or from when to when."""
    form = "%d/%m/%Y" if words.language == "pt" else "%d %b %Y"
    first, last = format(period.first, form), format(period.last, form)
    return first if period.days == 1 else words("indicators.run", first=first, last=last)


def cards(seen: SeenKpis, asked: AskedBoard, words: Words) -> Sequence[KpiCard]:
    """All KPIs."""
    return [_card(kpi, seen, asked, words) for kpi in KPIS]


def _card(kpi: Kpi, seen: SeenKpis, asked: AskedBoard, words: Words) -> KpiCard:
    measure = seen.measures[kpi.name]
    points = _points(kpi, seen.snapshots, words)
    title = words(f"kpi.{kpi.name}")
    aims = [TrendTarget(target.value, _aim(target, kpi, words)) for target in kpi.targets]
    return KpiCard(
        name=kpi.name,
        title=title,
        means=words(f"kpi_means.{kpi.name}"),
        period=period_name(seen.periods[kpi.frequency], words),
        value=_value(kpi, measure, words),
        targets=[target_view(target, kpi, measure, words) for target in kpi.targets],
        moved=_moved(kpi, measure, seen.before.get(kpi.name, NOTHING), words),
        of=_of(kpi, measure, words),
        running=measure.running,
        link=asked.address(f"{PATH}/{kpi.name}"),
        line=trend_line(points, aims, words("indicators.line", title=title, n=len(points))),
        table=points[::-1],
    )


def _value(kpi: Kpi, measure: Measure, words: Words) -> str:
    if measure.value is None:
        return words("indicators.no_value")
    return told(measure.value, kpi.unit, words.point)


def _points(kpi: Kpi, snapshots: Sequence[KpiSnapshot], words: Words) -> list[TrendPoint]:
    mine = [one for one in snapshots if one.kpi is kpi.name and one.frequency is kpi.frequency]
    return [
        TrendPoint(
            f"{one.first_day:%d/%m}", one.measure.value, told(one.measure.value, kpi.unit, words.point)
        )
        for one in mine
    ]


def _aim(target: Target, kpi: Kpi, words: Words) -> str:
    return target_told(target, kpi.unit, words.point).replace(">=", "≥").replace("<=", "≤")


def target_view(target: Target, kpi: Kpi, measure: Measure, words: Words) -> StateView:
    """Whether one rule's target is met: a word and a shape."""
    met, aim = target.is_met(measure), _aim(target, kpi, words)
    name = "open" if met is None else "met" if met else "missed"
    text = words(f"indicators.{name}", rule=target.rule, target=aim)
    if met is None:
        return StateView(Tone.CALM, StateShape.DASH, text)
    if met:
        return StateView(Tone.DONE, StateShape.CHECK, text)
    return StateView(Tone.STOPPED, StateShape.WARNING, text)


def _moved(kpi: Kpi, measure: Measure, before: Measure, words: Words) -> str:
    if before.value is None or measure.value is None:
        return ""
    way = trend(measure.value, before.value)
    return words(f"indicators.{way}", before=told(before.value, kpi.unit, words.point))


def _of(kpi: Kpi, measure: Measure, words: Words) -> str:
    if not measure.claims:
        return words("indicators.no_share")
    if kpi.unit is Unit.SHARE:
        n, of = words.number(measure.numerator), words.number(measure.denominator)
        return words("indicators.share", n=n, of=of)
    return words.counted("claims.found", measure.claims)


@dataclass(frozen=True, slots=True)
class TargetSums:
    """How many targets are met, how many can be judged, and how many cannot."""

    met: int
    judged: int
    open: int


def targets_met(shown: Sequence[KpiCard]) -> TargetSums:
    """Over all KPIs and both rules."""
    tones = [view.tone for card in shown for view in card.targets]
    still_open = tones.count(Tone.CALM)
    return TargetSums(tones.count(Tone.DONE), len(tones) - still_open, still_open)


def payer_table(seen: SeenKpis, asked: AskedBoard, words: Words) -> Sequence[KpiPayerRow]:
    """Every payer with a claim that failed, by name."""
    return [
        KpiPayerRow(
            name,
            replace(asked, payer=name).address(),
            [_cell(kpi, mine.get(kpi.name, NOTHING), words) for kpi in KPIS],
        )
        for name, mine in sorted(seen.by_payer.items())
    ]


def _cell(kpi: Kpi, measure: Measure, words: Words) -> KpiCell:
    if measure.value is None:
        return KpiCell("", None)
    met = all(target.is_met(measure) for target in kpi.targets)
    tone, shape = (Tone.DONE, StateShape.CHECK) if met else (Tone.STOPPED, StateShape.WARNING)
    text = words("indicators.cell_met" if met else "indicators.cell_missed")
    return KpiCell(told(measure.value, kpi.unit, words.point), StateView(tone, shape, text))


@dataclass(frozen=True, slots=True)
class BehindLine:
    """A claim behind a number."""

    claim_id: str
    link: str
    payer: str
    failed: Said
    counts: StateView
    ended: str
    retries: str
    after: str
    state: str


def behind_lines(found: Sequence[ClaimBehind], times: Times) -> Sequence[BehindLine]:
    """The claims behind a number, those that count first."""
    return [_behind(one, times) for one in found]


def _behind(one: ClaimBehind, times: Times) -> BehindLine:
    words = times.words
    state = f"state.{one.state}"
    seconds = Fraction(one.since_failure_us or 0, SECOND_US)
    return BehindLine(
        claim_id=one.claim_id,
        link=f"/claims/{quote(one.claim_id, safe='')}" if one.state else "",
        payer=one.payer_id or words("indicators.elsewhere"),
        failed=times.at(one.first_failed_at),
        counts=_counts(one, words),
        ended=words("ended.ACCEPTED" if one.accepted_at else f"ended.{one.given_up or 'none'}"),
        retries="" if one.retries_sent is None else words.number(one.retries_sent),
        after=told(seconds, Unit.SECONDS) if one.is_timed else "",
        state=words(state) if words.knows(state) else words("indicators.elsewhere"),
    )


def _counts(one: ClaimBehind, words: Words) -> StateView:
    if one.counts:
        return StateView(Tone.MOVING, StateShape.CHECK, words("indicators.counts"))
    return StateView(Tone.CALM, StateShape.DASH, words("indicators.counts_not"))
