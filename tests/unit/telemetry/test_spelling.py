"""Every name stands on /metrics in exactly the table's spelling."""

import re

import pytest
from opentelemetry.sdk.resources import Resource

from domain.readings import Reading
from workers.app.telemetry.gauges import GaugeSource
from workers.app.telemetry.metrics import ProcessMetrics
from workers.app.telemetry.table import METRICS, Kind, Metric

_SAMPLE = re.compile(r"^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$")


@pytest.fixture
def metrics() -> ProcessMetrics:
    return ProcessMetrics(Resource.create({"service.name": "reenvio", "service.version": "1.2.3"}))


def values_of(metric: Metric) -> tuple[str, ...]:
    return tuple(f"a-{label}" for label in metric.labels)


async def fill(metrics: ProcessMetrics) -> None:
    """Something of every metric."""
    readings = []
    for metric in METRICS.values():
        if metric.kind is Kind.COUNTER:
            metrics.counters.add(metric.name, values_of(metric), 3)
        elif metric.kind is Kind.HISTOGRAM:
            metrics.distributions[metric.name].record(7, values_of(metric))
        elif metric.kind is Kind.GAUGE:
            readings.append(Reading(metric.name, 3, dict(zip(metric.labels, values_of(metric), strict=True))))
        else:
            parts = {"_bucket": {"le": "+Inf"}, "_sum": {}, "_count": {}}
            readings += [Reading(metric.name + part, 3, labels) for part, labels in parts.items()]

    async def read() -> list[Reading]:
        return readings

    metrics.gauges.add(GaugeSource("all", read))
    await metrics.gauges.refresh()


def samples(metrics: ProcessMetrics) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in metrics.exposition().decode().splitlines():
        if match := _SAMPLE.match(line):
            found.setdefault(match[1], {})[match[2] or ""] = float(match[3])
    return found


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
async def test_a_metric_has_its_name_and_its_labels(metrics: ProcessMetrics, metric: Metric) -> None:
    await fill(metrics)
    found = samples(metrics)
    labels = ",".join(f'{label}="a-{label}"' for label in sorted(metric.labels))
    if metric.kind in (Kind.HISTOGRAM, Kind.SNAPSHOT):
        assert metric.name not in found
        assert set(found[f"{metric.name}_count"]) == {labels}
        assert any('le="+Inf"' in bucket for bucket in found[f"{metric.name}_bucket"])
    else:
        assert found[metric.name] == {labels: 3}
        assert f"{metric.name}_total" not in found


async def test_what_is_no_counter_by_its_name_has_no_type_and_all_others_have(
    metrics: ProcessMetrics,
) -> None:
    await fill(metrics)
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", metrics.exposition().decode(), re.MULTILINE))
    assert {name for name in METRICS if types[name] == "untyped"} == {
        "submission_retry_max_exceeded",
        "error_classification_distribution",
        "dlq_by_error_code",
        "dlq_by_company",
        "tenant_jobs_processed",
    }
    assert types["dlq_age_seconds"] == "histogram"
    assert types["submission_retry_total"] == "counter"


async def test_a_label_without_a_value_is_not_there(metrics: ProcessMetrics) -> None:
    async def read() -> list[Reading]:
        return [
            Reading("retry_success_rate", 0.5, {"rule": "RN-BIL-005"}),
            Reading("retry_success_rate", 0.25, {"rule": "03", "attempt": "2"}),
        ]

    metrics.gauges.add(GaugeSource("rates", read))
    await metrics.gauges.refresh()
    assert samples(metrics)["retry_success_rate"] == {
        'rule="RN-BIL-005"': 0.5,
        'attempt="2",rule="03"': 0.25,
    }


def test_service_and_version_are_told(metrics: ProcessMetrics) -> None:
    metrics.counters.begin("dlq_entries_total", [()])
    (labels,) = samples(metrics)["target_info"]
    assert 'service_name="reenvio"' in labels
    assert 'service_version="1.2.3"' in labels


def test_the_process_itself_is_measured_too(metrics: ProcessMetrics) -> None:
    assert samples(metrics)["process_resident_memory_bytes"][""] > 1_000_000


def test_two_processes_metrics_know_nothing_of_each_other(metrics: ProcessMetrics) -> None:
    other = ProcessMetrics(Resource.create())
    metrics.counters.add("dlq_entries_total")
    assert "dlq_entries_total" not in samples(other)
