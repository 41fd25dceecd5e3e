"""A trial for people: what really happened, what the play makes of it, and what another policy would have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from domain.kpis.definitions import Kpi, Measure
from domain.kpis.wording import told
from domain.what_if.figures import PlayFigures
from domain.what_if.history import Ending
from workers.console.views.indicator_board import target_view
from workers.console.views.policy_board import share_of
from workers.console.views.policy_pictures import StackedBar, StackPart, stacked
from workers.console.views.shapes import StateView
from workers.console.words import Words
from workers.upkeep.policy_trials import Trial

PARTS = (
    Ending.AT_ONCE,
    Ending.RECOVERED,
    Ending.RUNNING,
    Ending.STANDS,
    Ending.BY_PERSON,
    Ending.PERMANENT,
    Ending.DEADLINE,
    Ending.RETRIES,
)


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One number of all three: really, played now, played then."""

    name: str
    real: str
    now: str
    then: str


@dataclass(frozen=True, slots=True)
class KpiTrialCell:
    """A KPI of one of the three, beside its targets."""

    value: str
    targets: Sequence[StateView]


@dataclass(frozen=True, slots=True)
class KpiTrialRow:
    """A KPI of all three."""

    title: str
    cells: Sequence[KpiTrialCell]


@dataclass(frozen=True, slots=True)
class TrialSheet:
    """All that a trial shows."""

    rows: Sequence[TrialRow]
    kpis: Sequence[KpiTrialRow]
    picture: Markup
    agreement: str
    unsure: str
    span: str
    is_cut: bool
    is_empty: bool
    legend: Sequence[tuple[str, str]]


def trial_sheet(trial: Trial, words: Words) -> TrialSheet:
    """A trial in words."""
    same, then = trial.agreement, trial.then
    number = words.number
    return TrialSheet(
        rows=[_row(name, value, trial, words) for name, value in _measures(words)],
        kpis=_kpis(trial, words),
        picture=_picture(trial, words),
        agreement=words("trial.agreement", same=number(same.same_ending), of=number(same.failed)),
        unsure=words("trial.unsure", n=number(then.unsure), of=number(then.sends)),
        span=words.counted("trial.claims", len(trial.history.claims)),
        is_cut=trial.is_cut,
        is_empty=not trial.history.claims,
        legend=[(one.lower(), words(f"trial_end.{one}")) for one in PARTS if _is_shown(one, trial)],
    )


def _is_shown(ending: Ending, trial: Trial) -> bool:
    return any(part.endings.get(ending) for part in (trial.real, trial.now, trial.then))


Told = Callable[[PlayFigures], str]


def _measures(words: Words) -> Sequence[tuple[str, Told]]:
    number = words.number
    return [
        ("trial.taken", lambda found: number(found.taken)),
        ("trial.recovered", lambda found: number(found.recovered)),
        ("trial.lost", lambda found: number(_ended(found, Ending.RETRIES))),
        ("trial.deadline", lambda found: number(_ended(found, Ending.DEADLINE))),
        ("trial.permanent", lambda found: number(_ended(found, Ending.PERMANENT))),
        ("trial.running", lambda found: number(_ended(found, Ending.RUNNING, Ending.STANDS))),
        ("trial.sends", lambda found: number(found.sends)),
        ("trial.per_claim", lambda found: share_of(found.sends_per_claim, words)),
        ("trial.peak", lambda found: _peak(found, words)),
    ]


def _ended(found: PlayFigures, *endings: Ending) -> int:
    return sum(found.endings.get(ending, 0) for ending in endings)


def _peak(found: PlayFigures, words: Words) -> str:
    peak = found.peak
    return words("trial.peak_of", n=words.number(peak.sends), payer=peak.payer_id) if peak else "-"


def _row(name: str, value: Told, trial: Trial, words: Words) -> TrialRow:
    return TrialRow(words(name), value(trial.real), value(trial.now), value(trial.then))


def _kpis(trial: Trial, words: Words) -> Sequence[KpiTrialRow]:
    parts = zip(trial.real.kpis, trial.now.kpis, trial.then.kpis, strict=True)
    return [_kpi(kpi, [real, now, then], words) for (kpi, real), (_, now), (_, then) in parts]


def _kpi(kpi: Kpi, measures: Sequence[Measure], words: Words) -> KpiTrialRow:
    cells = [
        KpiTrialCell(
            told(one.value, kpi.unit, words.point),
            [target_view(target, kpi, one, words) for target in kpi.targets],
        )
        for one in measures
    ]
    return KpiTrialRow(words(f"kpi.{kpi.name}"), cells)


def _picture(trial: Trial, words: Words) -> Markup:
    named = (("trial.bar_real", trial.real), ("trial.bar_now", trial.now), ("trial.bar_then", trial.then))
    bars = [StackedBar(words(name), _parts(found, words)) for name, found in named]
    told_bars = "; ".join(f"{bar.name}: {', '.join(part.text for part in bar.parts)}" for bar in bars)
    return stacked(bars, words("trial.picture_alt", text=told_bars))


def _parts(found: PlayFigures, words: Words) -> Sequence[StackPart]:
    return [
        StackPart(ending, number, f"{words(f'trial_end.{ending}')}: {words.number(number)}")
        for ending in PARTS
        if (number := found.endings.get(ending, 0))
    ]
