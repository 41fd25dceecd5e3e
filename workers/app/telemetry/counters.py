"""Counts by label values: as cheap as a dictionary, read only when somebody looks."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

Values = tuple[str, ...]


class Counters:
    """What was counted since the process began."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, dict[Values, float]] = defaultdict(dict)

    def add(self, metric: str, values: Values = (), number: float = 1) -> None:
        """Count under the values of the metric's labels, in the table's order."""
        counts = self._counts[metric]
        counts[values] = counts.get(values, 0) + number

    def begin(self, metric: str, known: Iterable[Values]) -> None:
        """Show these at 0 until something is counted, so that the first one is seen as a step."""
        for values in known:
            self._counts[metric].setdefault(values, 0)

    def of(self, metric: str) -> Sequence[tuple[Values, float]]:
        """A metric's counts; also while somebody counts in another thread."""
        return list(self._counts[metric].items())
