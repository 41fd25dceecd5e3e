"""The next retry on a small chart: from the decision, over the window it was drawn from, to its moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from markupsafe import Markup

from domain.claim_state import ClaimState
from persistence.repositories.claims import ClaimRow
from persistence.repositories.decisions import StoredDecision
from workers.console.views.claim_story import Records, reckoned
from workers.console.views.times import Times

WIDTH, HEIGHT, LINE, EDGE = 720, 84, 40, 28
LABEL_APART = 64
Mark = tuple[str, datetime]


@dataclass(frozen=True, slots=True)
class RetryChart:
    """A picture, and the same as rows: what, and when."""

    picture: Markup
    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Window:
    """What is drawn: when it was decided, between which moments it may fall, when it falls."""

    decided: datetime
    low: datetime
    high: datetime
    due: datetime


def next_retry(claim: ClaimRow, records: Records, times: Times) -> RetryChart | None:
    """The chart of a claim that waits for its own time; None for any other."""
    newest = records.decisions[-1] if records.decisions else None
    if claim.state is not ClaimState.WAITING or claim.incident or newest is None:
        return None
    window = _window(newest, records)
    if window is None or claim.next_retry_time is None or abs(claim.next_retry_time - window.due).seconds > 1:
        return None
    return _drawn(window, claim.deadline, times)


def _window(decision: StoredDecision, records: Records) -> _Window | None:
    policy, due = records.policies.get(decision.policy_version), decision.next_retry_time
    wait = reckoned(decision, policy) if policy else None
    if wait is None or due is None:
        return None
    begin = decision.decided_at
    low, high = (begin + timedelta(seconds=one) for one in (wait.low_seconds, wait.high_seconds))
    return _Window(begin, min(low, due), max(high, due), due)


def _drawn(window: _Window, deadline: datetime | None, times: Times) -> RetryChart:
    words = times.words
    marks: list[Mark] = [("decided", window.decided), ("now", times.now), ("due", window.due)]
    rows = [
        (words("retry_chart.decided"), times.at(window.decided).text),
        (words("retry_chart.window"), f"{_clock(window.low, times)} - {_clock(window.high, times)}"),
        (words("retry_chart.due"), times.at(window.due).text),
        *([(words("retry_chart.deadline"), times.at(deadline).text)] if deadline else []),
    ]
    title = "; ".join(f"{name}: {when}" for name, when in rows)
    return RetryChart(_picture(window, marks, times, title), rows)


def _picture(window: _Window, marks: Sequence[Mark], times: Times, title: str) -> Markup:
    first, last = window.decided, max(window.high, times.now)
    span = (last - first).total_seconds() or 1.0

    def x(moment: datetime) -> float:
        share = min(max((moment - first).total_seconds() / span, 0.0), 1.0)
        return round(EDGE + share * (WIDTH - 2 * EDGE), 1)

    left, right = x(window.low), x(window.high)
    band = Markup('<rect class="window" x="{}" y="{}" width="{}" height="20" rx="3"/>')
    axis = Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>')
    head = Markup('<svg class="chart retry" viewBox="0 0 {} {}" role="img" aria-label="{}">')
    drawn = Markup("").join(_mark(name, x(moment), moment, times) for name, moment in marks)
    return (
        head.format(WIDTH, HEIGHT, title)
        + band.format(left, LINE - 10, max(right - left, 2))
        + axis.format(EDGE, WIDTH - EDGE, LINE, LINE)
        + drawn
        + Markup("</svg>")
    )


def _mark(name: str, at: float, moment: datetime, times: Times) -> Markup:
    """A stroke with its name: what is now stands above the line, the rest below."""
    above = name == "now"
    y, clock = (18 if above else LINE + 28), _clock(moment, times)
    stroke = Markup('<line class="{0}" x1="{1}" x2="{1}" y1="{2}" y2="{3}"/>')
    label = Markup('<text x="{}" y="{}" text-anchor="{}">{} {}</text>')
    anchor = "start" if at < LABEL_APART else "end" if at > WIDTH - LABEL_APART else "middle"
    said = times.words(f"retry_chart.{name}_short")
    return stroke.format(name, at, LINE - 14, LINE + 14) + label.format(at, y, anchor, said, clock)


def _clock(moment: datetime, times: Times) -> str:
    return f"{moment.astimezone(times.zone):%H:%M}"
