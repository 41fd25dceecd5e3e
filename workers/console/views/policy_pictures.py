"""Pictures of a policy and of a trial as inline SVG: each with its text, and the page has a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH, LEFT, RIGHT, ROW, TOP = 720, 120, 712, 30, 6


@dataclass(frozen=True, slots=True)
class WaitBar:
    """A window of a wait, in minutes, with its name and its text."""

    name: str
    low: float
    high: float
    text: str


@dataclass(frozen=True, slots=True)
class StackPart:
    """A part of a bar: its kind, how much it is, and how it is told."""

    kind: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class StackedBar:
    """A bar of parts, with its name."""

    name: str
    parts: Sequence[StackPart]


def wait_windows(bars: Sequence[WaitBar], title: str) -> Markup:
    """When each retry may come after the failure before it."""
    most = max((bar.high for bar in bars), default=1) or 1
    rows = Markup("").join(_window(bar, number, most) for number, bar in enumerate(bars))
    return _drawn(rows, len(bars), title)


def _window(bar: WaitBar, number: int, most: float) -> Markup:
    y, span = TOP + ROW * number, RIGHT - LEFT - 130
    left = round(LEFT + bar.low / most * span, 1)
    width = max(round((bar.high - bar.low) / most * span, 1), 3)
    shape = Markup('<rect class="bar" x="{}" y="{}" width="{}" height="16" rx="3"/>').format(
        left, y + 6, width
    )
    return _name(bar.name, y) + shape + _text(left + width + 8, y, bar.text)


def stacked(bars: Sequence[StackedBar], title: str) -> Markup:
    """Bars of the same length, each cut by what became of its claims."""
    rows = Markup("").join(_stack(bar, number) for number, bar in enumerate(bars))
    return _drawn(rows, len(bars), title)


def _stack(bar: StackedBar, number: int) -> Markup:
    y, total, drawn, left = (
        TOP + ROW * number,
        sum(part.number for part in bar.parts),
        Markup(""),
        float(LEFT),
    )
    for part in bar.parts:
        width = (RIGHT - LEFT) * part.number / total if total else 0
        drawn += _part(part, left, width, y)
        left += width
    return _name(bar.name, y) + drawn


def _part(part: StackPart, left: float, width: float, y: int) -> Markup:
    shape = Markup('<rect class="part is-{}" x="{}" y="{}" width="{}" height="20"><title>{}</title></rect>')
    return shape.format(part.kind.lower(), round(left, 1), y + 4, round(width, 1), part.text)


def _drawn(rows: Markup, number: int, title: str) -> Markup:
    head = Markup('<svg class="chart policy" viewBox="0 0 {} {}" role="img" aria-label="{}">')
    return head.format(WIDTH, TOP * 2 + ROW * number, title) + rows + Markup("</svg>")


def _name(name: str, y: int) -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(LEFT - 10, y + 18, name)


def _text(x: float, y: int, text: str) -> Markup:
    return Markup('<text class="value" x="{}" y="{}">{}</text>').format(round(x, 1), y + 18, text)
