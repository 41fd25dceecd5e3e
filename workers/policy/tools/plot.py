"""Draws the retry schedule as SVG: the wait before each retry, and how long an outage the retries outlast."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape

from domain.policy import Policy
from workers.policy.tools.cover import RetryArrival, arrivals, lost_share

INK, QUIET, GRID, PAPER = "#1f2933", "#616e7c", "#e4e7eb", "#ffffff"
WINDOW, REACH = "#2f6fab", "#7fb2e5"
GOOD, FAIR, BAD = "#2e8b6f", "#d9902f", "#c2513f"

LEFT, RIGHT, WIDTH = 170, 50, 1000
TOP, ROW, GAP = 120, 34, 96


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How a text looks; `anchor` says which of its ends its place is."""

    color: str = INK
    size: int = 14
    anchor: str = "start"
    weight: int = 400


BODY, NOTE, LEGEND = TextStyle(), TextStyle(color=QUIET), TextStyle(color=QUIET, size=13)
TITLE, HEADING = TextStyle(size=24, weight=600), TextStyle(weight=600)
ROW_NAME, TICK_NAME = TextStyle(anchor="end"), TextStyle(color=QUIET, anchor="middle")


@dataclass(frozen=True, slots=True)
class Bar:
    """From one time to another, in minutes, and its colour."""

    low: float
    high: float
    color: str
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Scale:
    """Minutes to pixels along the horizontal axis."""

    minutes: float

    def x(self, minutes: float) -> float:
        """Where a time stands."""
        return LEFT + minutes / self.minutes * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[float]:
        """Round times, six to twelve of them."""
        step = next(
            s for s in (1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440, 10080, 1e9) if self.minutes / s <= 12
        )
        return [step * number for number in range(int(self.minutes / step) + 1)]


def draw(policy: Policy) -> str:
    """The whole drawing, as the text of an SVG file."""
    steps = arrivals(policy.limits)
    outages = policy.expectations.outage_minutes
    lower = TOP + ROW * len(steps) + GAP
    height = lower + ROW * (len(steps) + len(outages)) + 92
    parts = (
        *_title(policy),
        *_waits(steps),
        *_reach(steps, policy, lower),
        *_legend(height - 24),
    )
    return _document(height, "\n".join(parts))


def _document(height: int, body: str) -> str:
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    font = "font-family=\"'Inter','Segoe UI','Helvetica Neue',Arial,sans-serif\" font-size=\"14\""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} role="img">'
    return f'{head}\n<rect width="100%" height="100%" fill="{PAPER}"/>\n{body}\n</svg>\n'


def _title(policy: Policy) -> Iterator[str]:
    limits = policy.limits
    yield f"<title>Retry schedule of policy {escape(policy.label)}</title>"
    yield _text(30, 44, "Retry schedule", TITLE)
    numbers = (
        f"up to {limits.max_retries} retries, {limits.base_seconds / 60:g} min x {limits.factor} each time, "
        f"\N{PLUS-MINUS SIGN}{limits.jitter_percent} %, "
        f"inside {limits.floor_seconds / 60:g} to {limits.cap_seconds / 60:g} min, "
        f"{limits.reserve_seconds / 60:g} min before a deadline kept"
    )
    yield _text(30, 70, f"Policy {policy.label}: {numbers}", NOTE)


def _waits(steps: tuple[RetryArrival, ...]) -> Iterator[str]:
    scale = Scale(max(step.wait_high for step in steps) * 1.12)
    yield _text(30, TOP - 14, "Wait before each retry, minutes", HEADING)
    yield from _axis(scale, TOP, TOP + ROW * len(steps))
    for row, step in enumerate(steps):
        y = TOP + ROW * row
        yield _text(LEFT - 14, y + 22, f"Retry {step.number}", ROW_NAME)
        yield _bar(scale, Bar(step.wait_low, step.wait_high, WINDOW), y)
        yield _text(scale.x(step.wait_high) + 8, y + 22, f"{step.wait_low:g} to {step.wait_high:g}", NOTE)


def _reach(steps: tuple[RetryArrival, ...], policy: Policy, top: int) -> Iterator[str]:
    outages = policy.expectations.outage_minutes
    scale = Scale(max(*outages, steps[-1].latest) * 1.06)
    bottom = top + ROW * (len(steps) + len(outages))
    heading = "Time since the first failure, against outages in which it may fall at any moment"
    yield _text(30, top - 14, heading, HEADING)
    yield from _axis(scale, top, bottom, hours=True)
    for row, step in enumerate(steps):
        y = top + ROW * row
        yield _text(LEFT - 14, y + 22, f"Retry {step.number}", ROW_NAME)
        yield _bar(scale, Bar(step.earliest, step.latest, REACH), y)
        yield _tick(scale.x(step.mean), y)
    for row, outage in enumerate(outages, start=len(steps)):
        yield _end_of(scale.x(outage), top, top + ROW * row + 6)
        yield from _outage(policy, scale, outage, top + ROW * row)


def _outage(policy: Policy, scale: Scale, minutes: int, y: int) -> Iterator[str]:
    lost = lost_share(policy.limits, minutes) * 100
    color = GOOD if lost < 0.5 else FAIR if lost <= policy.expectations.lost_percent else BAD
    words = "every claim gets through" if lost < 0.5 else f"{lost:.0f} % of the claims are lost"
    yield _text(LEFT - 14, y + 22, f"Outage of {clock(minutes)}", replace(ROW_NAME, color=color))
    yield _bar(scale, Bar(0, minutes, color, opacity=0.85), y)
    yield _label(scale, minutes, y, words)


def _label(scale: Scale, minutes: int, y: int, words: str) -> str:
    inside = scale.x(minutes) - LEFT > 8 * len(words)
    x = LEFT + 12 if inside else scale.x(minutes) + 8
    return _text(x, y + 22, words, replace(BODY, color=PAPER) if inside else BODY)


def _axis(scale: Scale, top: int, bottom: int, *, hours: bool = False) -> Iterator[str]:
    for minutes in scale.ticks():
        x = scale.x(minutes)
        yield f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom + 4}" stroke="{GRID}"/>'
        yield _text(x, bottom + 22, clock(minutes) if hours else f"{minutes:g}", TICK_NAME)


def _legend(y: int) -> Iterator[str]:
    entries = ((WINDOW, "window of the wait"), (REACH, "earliest to latest, mean marked"), (GOOD, "covered"))
    x = float(LEFT)
    for color, words in (*entries, (FAIR, "within the target"), (BAD, "beyond the target")):
        yield f'<rect x="{x:.0f}" y="{y - 11}" width="12" height="12" rx="3" fill="{color}"/>'
        yield _text(x + 18, y, words, LEGEND)
        x += 44 + 6.6 * len(words)


def _bar(scale: Scale, bar: Bar, y: int) -> str:
    left, width = scale.x(bar.low), max(scale.x(bar.high) - scale.x(bar.low), 3)
    shape = f'x="{left:.1f}" y="{y + 6}" width="{width:.1f}" height="{ROW - 12}" rx="4"'
    return f'<rect {shape} fill="{bar.color}" fill-opacity="{bar.opacity}"/>'


def _tick(x: float, y: int) -> str:
    return (
        f'<line x1="{x:.1f}" y1="{y + 6}" x2="{x:.1f}" y2="{y + ROW - 6}" stroke="{INK}" stroke-width="2"/>'
    )


def _end_of(x: float, top: int, bottom: int) -> str:
    style = f'stroke="{QUIET}" stroke-dasharray="3 4"'
    return f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" {style}/>'


def _text(x: float, y: float, words: str, style: TextStyle) -> str:
    fill = f'fill="{style.color}" font-size="{style.size}"'
    place = f'text-anchor="{style.anchor}" font-weight="{style.weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {fill} {place}>{escape(words)}</text>'


def clock(minutes: float) -> str:
    """Hours and minutes for people: `2 h`, `2 h 30`, `45 min`."""
    hours, rest = divmod(round(minutes), 60)
    if not hours:
        return f"{rest} min" if rest else "0"
    return f"{hours} h {rest:02d}" if rest else f"{hours} h"
