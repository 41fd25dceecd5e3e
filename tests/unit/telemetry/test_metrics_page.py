"""docs/metrics.md shows every metric as the code has it, and no other."""

import re
from pathlib import Path

from workers.app.telemetry.table import GROUPS, METRICS, SHARES, THING_OF, Kind, Metric

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| `([a-z_0-9]+)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
OF_OTHERS = {"reenvio_kpi", "reenvio_kpi_target", "reenvio_standing_still", "reenvio_standing_healed_total"}
"""Read and counted by KPIs' and the watch's own gauges."""
DOCUMENTED = (
    "submission_retry_total",
    "submission_retry_backoff_minutes",
    "submission_retry_max_exceeded",
    "error_classification_distribution",
    "retry_analysis_duration_seconds",
    "retry_scheduled_total",
    "max_retries_exceeded_total",
    "permanent_errors_total",
    "backoff_duration_minutes",
    "retry_success_rate",
    "retry_attempts_total",
    "retry_backoff_delay_seconds",
    "dlq_entries_total",
    "dlq_size",
    "dlq_age_seconds",
    "dlq_by_error_code",
    "dlq_by_company",
    "tenant_jobs_processed",
    "tenant_current_priority",
    "tenant_consecutive_batch",
    "tenant_rounds_without_processing",
)
"""As RN-BIL-004, RN-BIL-005 and document 03 write them."""


def row(metric: Metric) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
    return metric.name, metric.kind.value, metric.unit, labels, metric.says


def test_the_page_lists_every_metric_in_the_tables_order() -> None:
    assert _ROW.findall(PAGE) == [row(metric) for metric in METRICS.values()]
    assert [group for group in GROUPS if f"\n## {group}\n" not in PAGE] == []


def test_every_name_of_the_documents_is_in_the_table() -> None:
    assert [name for name in DOCUMENTED if name not in METRICS] == []


def test_every_metric_is_counted_or_read_somewhere() -> None:
    files = [file for folder in ("workers", "persistence") for file in (ROOT / folder).rglob("*.py")]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files if file.name != "table.py")
    assert [name for name in METRICS if name not in code and name not in OF_OTHERS] == []


def test_names_say_their_units() -> None:
    units = {name: metric.unit for name, metric in METRICS.items()}
    assert units["dlq_age_seconds"] == "s"
    assert units["backoff_duration_minutes"] == "min"
    assert units["reenvio_redis_memory_used_bytes"] == "By"
    assert units["dlq_size"] == "{letter}"


def test_only_shares_have_the_unit_to_which_a_collector_appends_ratio() -> None:
    assert {name for name, metric in METRICS.items() if metric.unit == "1"} == SHARES
    assert set(THING_OF) <= set(METRICS)


def test_buckets_grow_and_only_distributions_have_them() -> None:
    for metric in METRICS.values():
        assert bool(metric.buckets) == (metric.kind in (Kind.HISTOGRAM, Kind.SNAPSHOT))
        assert list(metric.buckets) == sorted(set(metric.buckets))
