"""A KPI over time: a line with its targets, told in words; the page has the same as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from markupsafe import Markup

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BASE = 360, 120, 8, 286, 14, 96
ASIDE, APART = 292, 13
"""Targets are named beside the line, never on it, and not on each other."""


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A period: its name below the line, its value, and the value as it is told."""

    label: str
    value: Fraction | None
    told: str


@dataclass(frozen=True, slots=True)
class TrendTarget:
    """A dashed line, and what stands at it."""

    value: Fraction
    label: str


def trend_line(points: Sequence[TrendPoint], targets: Sequence[TrendTarget], title: str) -> Markup:
    """The picture; nothing where fewer than two values are known: one point is no line."""
    known = [point.value for point in points if point.value is not None]
    if len(known) < 2:
        return Markup("")
    scale = _TrendScale.of([*known, *(target.value for target in targets)])
    head = Markup('<svg class="trend" viewBox="0 0 {} {}" role="img" aria-label="{}">')
    aims = _targets(targets, scale)
    line = Markup('<path class="path" d="{}"/>').format(_path(points, scale))
    dots = Markup("").join(_dot(point, _x(n, len(points)), scale) for n, point in enumerate(points))
    ends = _label(LEFT, "start", points[0].label) + _label(RIGHT, "end", points[-1].label)
    return head.format(WIDTH, HEIGHT, title) + line + dots + aims + ends + Markup("</svg>")


@dataclass(frozen=True, slots=True)
class _TrendScale:
    least: Fraction
    most: Fraction

    @classmethod
    def of(cls, values: Sequence[Fraction]) -> "_TrendScale":
        return cls(min(values), max(values))

    def y(self, value: Fraction) -> float:
        span = self.most - self.least
        share = (value - self.least) / span if span else Fraction(1, 2)
        return round(float(BASE - 4 - share * (BASE - TOP - 4)), 1)


def _x(number: int, many: int) -> float:
    return round(LEFT + (RIGHT - LEFT) * number / max(many - 1, 1), 1)


def _path(points: Sequence[TrendPoint], scale: _TrendScale) -> str:
    drawn, is_open = [], False
    for number, point in enumerate(points):
        if point.value is not None:
            drawn.append(f"{'L' if is_open else 'M'}{_x(number, len(points))} {scale.y(point.value)}")
        is_open = point.value is not None
    return " ".join(drawn)


def _dot(point: TrendPoint, x: float, scale: _TrendScale) -> Markup:
    if point.value is None:
        return Markup("")
    title = Markup("<title>{}: {}</title>").format(point.label, point.told)
    return Markup('<circle class="dot" cx="{}" cy="{}" r="2.5">{}</circle>').format(
        x, scale.y(point.value), title
    )


def _targets(targets: Sequence[TrendTarget], scale: _TrendScale) -> Markup:
    """A dashed line each; their names from the top down, each as near to its line as it can be."""
    drawn, free = Markup(""), float(TOP)
    for target in sorted(targets, key=lambda one: -one.value):
        y = scale.y(target.value)
        drawn += Markup('<line class="target" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(LEFT, RIGHT, y, y)
        beside = round(max(y + 4, free), 1)
        drawn += Markup('<text class="aim" x="{}" y="{}">{}</text>').format(ASIDE, beside, target.label)
        free = beside + APART
    return drawn


def _label(x: float, anchor: str, text: str) -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(x, HEIGHT - 8, anchor, text)
