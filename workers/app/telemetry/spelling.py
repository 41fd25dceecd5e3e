"""The table's spelling on /metrics, where the exporter would have another.

It appends `_total` to every counter, writes labels that a value does not have, and knows no distribution of
what there is now, nor one that has no case yet.
"""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from workers.app.telemetry.instruments import PARTS, Distribution
from workers.app.telemetry.table import METRICS, Kind, Metric

WITHOUT_TOTAL = frozenset(
    name for name, one in METRICS.items() if one.kind is Kind.COUNTER and not name.endswith("_total")
)
SNAPSHOTS = tuple(one for one in METRICS.values() if one.kind is Kind.SNAPSHOT)
PART_NAMES = frozenset(one.name + part for one in SNAPSHOTS for part in PARTS)


class Spelled(Collector):
    """Another collector's families under the table's names."""

    def __init__(self, collected: Collector, distributions: Mapping[str, Distribution]) -> None:
        self._collected = collected
        self._distributions = distributions

    def collect(self) -> Iterator[Family]:
        """Each family once."""
        families = list(self._collected.collect())
        shown = {family.name: _spelled(family) for family in families if family.name not in PART_NAMES}
        for name, distribution in self._distributions.items():
            if empty := _empty(METRICS[name], distribution, shown.get(name)):
                shown.setdefault(name, Family(name, METRICS[name].says, "histogram")).samples.extend(empty)
        yield from shown.values()
        yield from _snapshots(family for family in families if family.name in PART_NAMES)


def _empty(metric: Metric, distribution: Distribution, shown: Family | None) -> list[Sample]:
    """The samples of what was begun and has no case yet."""
    labelled = [one.labels for one in shown.samples if one.name.endswith("_count")] if shown else []
    begun = (_given(labels) for labels in distribution.begun())
    return [sample for labels in begun if labels not in labelled for sample in _without_cases(metric, labels)]


def _without_cases(metric: Metric, labels: dict[str, str]) -> Iterator[Sample]:
    for bound in (*map(str, metric.buckets), "+Inf"):
        yield Sample(f"{metric.name}_bucket", {**labels, "le": bound}, 0.0)
    for part in ("_count", "_sum"):
        yield Sample(metric.name + part, labels, 0.0)


def _spelled(family: Family) -> Family:
    if family.name not in WITHOUT_TOTAL:
        return _of(family, family.type, family.samples)
    plain = (sample._replace(name=family.name) for sample in family.samples)
    return _of(family, "unknown", plain)  # the text format appends _total to what it calls a counter


def _of(family: Family, kind: str, samples: Iterable[Sample]) -> Family:
    spelled = Family(family.name, family.documentation, kind)
    spelled.samples = [sample._replace(labels=_given(sample.labels)) for sample in samples]
    return spelled


def _given(labels: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if value}


def _snapshots(parts: Iterable[Family]) -> Iterator[Family]:
    found = {part.name: part for part in parts}
    for metric in SNAPSHOTS:
        if all(metric.name + part in found for part in PARTS):
            yield _snapshot(metric, found)


def _snapshot(metric: Metric, found: dict[str, Family]) -> Family:
    whole = Family(metric.name, metric.says, "histogram")
    whole.samples = [sample for part in PARTS for sample in found[metric.name + part].samples]
    return whole
