"""Charts as inline SVG: each with a text in its place, and the page has its numbers as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from markupsafe import Markup, escape

WIDTH, HEIGHT, BASE, TOP = 720, 120, 96, 16
SPARK_WIDTH, SPARK_HEIGHT = 200, 36


@dataclass(frozen=True, slots=True)
class HourBar:
    """One bar: what stands below it, how high it is, and whether it is late."""

    label: str
    number: int
    is_late: bool = False


def bars(shown: Sequence[HourBar], title: str) -> Markup:
    """Bars side by side, each with its number; `title` says it in words."""
    most = max((bar.number for bar in shown), default=0) or 1
    step = WIDTH / max(len(shown), 1)
    parts = Markup("").join(_bar(bar, index * step, step, most) for index, bar in enumerate(shown))
    head = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">')
    axis = Markup('<line class="axis" x1="0" y1="{0}" x2="{1}" y2="{0}"/></svg>')
    return head.format(WIDTH, HEIGHT, title) + parts + axis.format(BASE, WIDTH)


def _bar(bar: HourBar, left: float, step: float, most: int) -> Markup:
    height = round((BASE - TOP) * bar.number / most, 1)
    middle, gap = round(left + step / 2, 1), round(step * 0.14, 1)
    label = Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(middle, BASE + 16, bar.label)
    if not bar.number:
        return label
    kind = " late" if bar.is_late else ""
    rect = Markup('<rect class="bar{}" x="{}" y="{}" width="{}" height="{}" rx="2"/>').format(
        kind, round(left + gap, 1), round(BASE - height, 1), round(step - 2 * gap, 1), height
    )
    value = Markup('<text class="value" x="{}" y="{}" text-anchor="middle">{}</text>')
    return label + rect + value.format(middle, round(BASE - height - 4, 1), bar.number)


def spark(values: Sequence[Fraction | None], target: Fraction | None, title: str) -> Markup:
    """A line of values, and a dashed one where the target lies; gaps where there is no value."""
    known = [value for value in values if value is not None]
    if len(known) < 2:  # one point is no line
        return Markup("")
    scale = _Scale.of([*known, *([target] if target is not None else [])])
    head = Markup(
        '<svg class="spark" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
    )
    line = Markup('<path class="path" d="{}"/>').format(_path(values, scale))
    aim = Markup("")
    if target is not None:
        aim = Markup('<line class="target" x1="0" x2="{0}" y1="{1}" y2="{1}"/>').format(
            SPARK_WIDTH, scale.y(target)
        )
    return head.format(SPARK_WIDTH, SPARK_HEIGHT, title) + aim + line + Markup("</svg>")


@dataclass(frozen=True, slots=True)
class _Scale:
    least: Fraction
    most: Fraction

    @classmethod
    def of(cls, values: Sequence[Fraction]) -> "_Scale":
        return cls(min(values), max(values))

    def y(self, value: Fraction) -> float:
        span = self.most - self.least
        share = (value - self.least) / span if span else Fraction(1, 2)
        return round(float(SPARK_HEIGHT - 3 - share * (SPARK_HEIGHT - 6)), 1)


def _path(values: Sequence[Fraction | None], scale: _Scale) -> str:
    step, drawn, is_open = SPARK_WIDTH / max(len(values) - 1, 1), [], False
    for index, value in enumerate(values):
        if value is not None:
            drawn.append(f"{'L' if is_open else 'M'}{round(index * step, 1)} {scale.y(value)}")
        is_open = value is not None
    return str(escape(" ".join(drawn)))
