"""Counts by label values: as cheap as a dictionary, read only when somebody looks."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import structlog

from workers.app.telemetry.table import METRICS

Values = tuple[str, ...]
log = structlog.get_logger(__name__)


class MetricLabels:
    """A metric's labels, in the table's order; values that are not as many are told of once, and made so.

    Whoever counts must not lose its count for a label: the exporter would leave out the whole metric.
    """

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._number = len(METRICS[metric].labels) if metric in METRICS else None
        self._is_told = False

    def fitted(self, values: Values) -> Values:
        """One value for each label: one too many is left out, one too few is empty, and not shown."""
        if len(values) == self._number:
            return values
        if not self._is_told:
            self._is_told = True
            log.error("metric_labels_wrong", metric=self._metric, labels=self._number, given=len(values))
        number = self._number or 0
        return (*values, *("",) * number)[:number]


class Counters:
    """What was counted since the process began."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, dict[Values, float]] = defaultdict(dict)
        self._labels: dict[str, MetricLabels] = {}

    def add(self, metric: str, values: Values = (), number: float = 1) -> None:
        """Count under the values of the metric's labels, in the table's order."""
        counts, fitted = self._counts[metric], self._fitted(metric, values)
        counts[fitted] = counts.get(fitted, 0) + number

    def begin(self, metric: str, known: Iterable[Values]) -> None:
        """Show these at 0 until something is counted, so that the first one is seen as a step."""
        for values in known:
            self._counts[metric].setdefault(self._fitted(metric, values), 0)

    def of(self, metric: str) -> Sequence[tuple[Values, float]]:
        """A metric's counts; also while somebody counts in another thread."""
        return list(self._counts[metric].items())

    def _fitted(self, metric: str, values: Values) -> Values:
        if (labels := self._labels.get(metric)) is None:
            labels = self._labels[metric] = MetricLabels(metric)
        return labels.fitted(values)
