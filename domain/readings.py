"""What gauges stand at, as those who know it read it from time to time."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Reading:
    """The value of one gauge under its labels; the gauge is one of the table of metrics."""

    metric: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


ReadGauges = Callable[[], Awaitable[Sequence[Reading]]]
"""Reads gauges; whatever it raises leaves its gauges out until it is asked again."""
