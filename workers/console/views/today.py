"""The first page: three questions, and how the indicators stand."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from urllib.parse import urlencode

from markupsafe import Markup

from domain.catalog import Team
from domain.claim_state import ClaimState
from domain.decision import Cause
from domain.kpis.definitions import KPIS, Kpi
from domain.kpis.wording import target_told, told
from domain.payer_status import PayerState
from domain.reviews import ReviewReason
from persistence.repositories.figures import PayerFigures
from persistence.repositories.kpi_snapshots import KpiSnapshot
from persistence.repositories.overview import PAYER_STOPPED, StoppedGroup
from persistence.repositories.review_desk import INCIDENT
from workers.console.views.pictures import HourBar, bars, spark
from workers.console.views.reasons import review_cause
from workers.console.views.shapes import StateShape, StateView, Tone
from workers.console.views.states import payer_state, team_name
from workers.console.views.times import Said, Times
from workers.console.words import Words
from workers.payers.limits import LimitsByPayer

HOURS = 12
RISK = timedelta(hours=8)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class StoppedRow:
    """Why some claims stand still, whose they are, how urgent; `remedy` is what helps, and where that is."""

    cause: str
    team: str
    number: int
    oldest: Said | None
    deadline: Said | None
    is_at_risk: bool
    link: str
    remedy: tuple[str, str]


@dataclass(frozen=True, slots=True)
class PayerRow:
    """One payer in one line."""

    name: str
    state: StateView
    since: Said
    held: int
    backlog: str
    link: str


@dataclass(frozen=True, slots=True)
class Tile:
    """One indicator beside its targets; the link leads to the claims behind it."""

    title: str
    link: str
    value: str
    targets: tuple[StateView, ...]
    line: Markup
    days: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ComingSends:
    """What goes out by itself: when, and how many."""

    picture: Markup
    table: tuple[tuple[str, int], ...]
    number: int


def moments(now: datetime) -> Sequence[datetime]:
    """The ends of the bars: what is due already, the rest of this hour, then hour by hour."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    return [now, *(hour + n * HOUR for n in range(1, HOURS + 1))]


def stopped_rows(groups: Iterable[StoppedGroup], times: Times) -> Sequence[StoppedRow]:
    """The most urgent first: at risk, then by number."""
    rows = [_stopped(group, times) for group in groups]
    return sorted(rows, key=lambda row: (not row.is_at_risk, -row.number))


def _stopped(group: StoppedGroup, times: Times) -> StoppedRow:
    deadline, words = group.nearest_deadline, times.words
    is_incident = group.reason is None and group.team is None
    by_deadline = group.category == Cause.DEADLINE
    reason = group.category if by_deadline else group.reason
    cause = words("review.incident") if is_incident else review_cause(reason, group.category, words)
    return StoppedRow(
        cause=cause,
        team=team_name(Team.OPERATIONS if is_incident else group.team, words),
        number=group.number,
        oldest=times.ago(group.oldest) if group.oldest else None,
        deadline=times.left(deadline) if deadline else None,
        is_at_risk=deadline is not None and deadline < times.now + RISK,
        link=_claims(_behind(group, is_incident=is_incident)),
        remedy=_remedy(group, words, is_incident=is_incident),
    )


def _remedy(group: StoppedGroup, words: Words, *, is_incident: bool) -> tuple[str, str]:
    if is_incident:
        return words("today_do.incident"), _group({"reason": INCIDENT})
    if group.reason == PAYER_STOPPED:
        return words("today_do.payer"), "/payers"
    there = group.reason in (ReviewReason.PROTOCOL_MISSING, ReviewReason.ARRIVAL_UNKNOWN)
    asked = {"team": group.team, "reason": group.reason, "category": group.category}
    kept = {name: value for name, value in asked.items() if value}
    return words("today_do.at_payer" if there else "today_do.review"), _group(kept)


def _group(query: dict[str, str]) -> str:
    return f"/reviews/group?{urlencode(query)}"


def _behind(group: StoppedGroup, *, is_incident: bool) -> dict[str, str]:
    if is_incident:
        return {"state": "incident"}
    if group.reason == PAYER_STOPPED:
        return {"state": "stopped"}
    given = {"team": group.team, "reason": group.reason, "category": group.category}
    return {"state": "review"} | {name: value for name, value in given.items() if value}


def _claims(query: dict[str, str]) -> str:
    return f"/claims?{urlencode(query)}"


def coming_view(numbers: Sequence[int], times: Times) -> ComingSends:
    """Bars of what is due in which hour; the last one is all that is later."""
    words, total = times.words, numbers[-1]
    steps = [after - before for before, after in pairwise([0, *numbers])]
    hours = (f"{(end - HOUR).astimezone(times.zone):%H}h" for end in moments(times.now)[1:])
    labels = [words("coming.due"), *hours, words("coming.later")]
    shown = [HourBar(label, step, label == labels[0]) for label, step in zip(labels, steps, strict=True)]
    title = words("coming.title", n=words.number(total), hours=HOURS)
    return ComingSends(bars(shown, title), tuple((bar.label, bar.number) for bar in shown), total)


def payer_rows(payers: Iterable[PayerFigures], limits: LimitsByPayer, times: Times) -> Sequence[PayerRow]:
    """Those that hold claims first, then by name."""
    ordered = sorted(payers, key=lambda payer: (-payer.waiting, payer.status.payer_id))
    return [_payer(payer, limits, times) for payer in ordered]


def _payer(payer: PayerFigures, limits: LimitsByPayer, times: Times) -> PayerRow:
    status = payer.status
    return PayerRow(
        name=status.payer_id,
        state=payer_state(payer, times.words),
        since=times.at(status.changed_at),
        held=payer.waiting,
        backlog=_backlog(payer, limits, times),
        link=_claims({"state": "held", "payer": status.payer_id}),
    )


def _backlog(payer: PayerFigures, limits: LimitsByPayer, times: Times) -> str:
    """When the last of those that wait is out, at the payer's pace; nobody knows while it is held by hand."""
    status, words = payer.status, times.words
    if not payer.waiting:
        return ""
    if status.state is PayerState.STOPPED or (status.state is PayerState.PAUSED and not status.next_try_at):
        return words("backlog.unknown")
    begins = max(times.now, status.next_try_at or times.now)
    ends = begins + payer.waiting * limits.of(status.payer_id).wait_interval
    return words("backlog.ends", at=times.at(ends).text)


def tiles(snapshots: Sequence[KpiSnapshot], times: Times) -> Sequence[Tile]:
    """Every indicator that was ever counted."""
    return [
        _tile(kpi, mine, times) for kpi in KPIS if (mine := [one for one in snapshots if one.kpi is kpi.name])
    ]


def _tile(kpi: Kpi, mine: Sequence[KpiSnapshot], times: Times) -> Tile:
    words, newest = times.words, mine[-1]
    values = [one.measure.value for one in mine]
    said = [told(value, kpi.unit, words.point) for value in values]
    title = words(f"kpi.{kpi.name}")
    return Tile(
        title=title,
        link=f"/indicators/{kpi.name}",
        value=said[-1],
        targets=tuple(_target(kpi, index, newest, times) for index in range(len(kpi.targets))),
        line=spark(values, kpi.targets[0].value, words("kpi_line", title=title)),
        days=tuple(
            (f"{one.first_day:%d/%m}", told(one.measure.value, kpi.unit, words.point)) for one in mine
        ),
    )


def _target(kpi: Kpi, index: int, newest: KpiSnapshot, times: Times) -> StateView:
    target, words = kpi.targets[index], times.words
    aim = target_told(target, kpi.unit, words.point).replace(">=", "≥").replace("<=", "≤")
    met = target.is_met(newest.measure)
    text = words("target.open" if met is None else "target.met" if met else "target.missed", target=aim)
    if met is None:
        return StateView(Tone.CALM, StateShape.DASH, text)
    return (
        StateView(Tone.DONE, StateShape.CHECK, text)
        if met
        else StateView(Tone.STOPPED, StateShape.WARNING, text)
    )


OPEN_STATES = (ClaimState.RECEIVED, ClaimState.SUBMITTING, ClaimState.FAILED)
