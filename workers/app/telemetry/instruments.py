"""The table's metrics as instruments of the OpenTelemetry SDK."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from opentelemetry.metrics import CallbackOptions, Histogram, Meter, Observation

from workers.app.telemetry.counters import Counters, MetricLabels, Values
from workers.app.telemetry.gauges import Gauges
from workers.app.telemetry.table import METRICS, Kind, Metric

Observing = Callable[[CallbackOptions], Iterable[Observation]]
PARTS: Mapping[str, str] = {"_bucket": "{case}", "_sum": "{sum}", "_count": "{case}"}
"""A distribution of now has no instrument of its own: these gauges, with their units, are one on /metrics."""


class Distribution:
    """A histogram whose attributes are made once for each set of label values."""

    def __init__(self, metric: Metric, histogram: Histogram) -> None:
        self._names = metric.labels
        self._labels = MetricLabels(metric.name)
        self._histogram = histogram
        self._attributes: dict[Values, Mapping[str, str]] = {}
        self._begun: dict[Values, Mapping[str, str]] = {}

    def record(self, value: float, values: Values = ()) -> None:
        """Record under the values of the metric's labels, in the table's order."""
        if (attributes := self._attributes.get(values)) is None:
            attributes = self._attributes[values] = self._labelled(values)
        self._histogram.record(value, attributes)

    def begin(self, known: Iterable[Values]) -> None:
        """Show these without any case until there is one, so that the first ones are seen as a step."""
        self._begun |= {values: self._labelled(values) for values in known}

    def begun(self) -> Sequence[Mapping[str, str]]:
        """The labels of those that were begun."""
        return list(self._begun.values())

    def _labelled(self, values: Values) -> Mapping[str, str]:
        return dict(zip(self._names, self._labels.fitted(values), strict=True))


def create_instruments(meter: Meter, counters: Counters, gauges: Gauges) -> Mapping[str, Distribution]:
    """Make all of them; what is counted and read is asked for when somebody collects."""
    distributions: dict[str, Distribution] = {}
    for metric in METRICS.values():
        match metric.kind:
            case Kind.COUNTER:
                observing = [_counted(metric, counters), _read(metric.name, gauges)]
                meter.create_observable_counter(metric.name, observing, metric.unit, metric.says)
            case Kind.GAUGE:
                observing = [_read(metric.name, gauges)]
                meter.create_observable_gauge(metric.name, observing, metric.unit, metric.says)
            case Kind.HISTOGRAM:
                distributions[metric.name] = Distribution(metric, _histogram(meter, metric))
            case Kind.SNAPSHOT:
                for part, unit in ((metric.name + suffix, unit) for suffix, unit in PARTS.items()):
                    meter.create_observable_gauge(part, [_read(part, gauges)], unit, metric.says)
    return distributions


def _counted(metric: Metric, counters: Counters) -> Observing:
    def observe(_options: CallbackOptions) -> Iterable[Observation]:
        for values, number in counters.of(metric.name):
            yield Observation(number, dict(zip(metric.labels, values, strict=True)))

    return observe


def _read(name: str, gauges: Gauges) -> Observing:
    def observe(_options: CallbackOptions) -> Iterable[Observation]:
        for reading in gauges.of(name):
            yield Observation(reading.value, dict(reading.labels))

    return observe


def _histogram(meter: Meter, metric: Metric) -> Histogram:
    return meter.create_histogram(
        metric.name,
        unit=metric.unit,
        description=metric.says,
        explicit_bucket_boundaries_advisory=metric.buckets,
    )
