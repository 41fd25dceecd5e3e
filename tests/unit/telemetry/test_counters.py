"""A label that the table does not know costs no count, and is told of once."""

import pytest
from opentelemetry.sdk.resources import Resource
from structlog.testing import capture_logs

from tests.support.scraped import read_scrape
from workers.app.telemetry.metrics import ProcessMetrics

IDS = {"type": "submit-claim"}


@pytest.mark.parametrize("extra", [("stream", "new"), ("stream", "new", "newer")])
def test_a_label_too_many_is_left_out_and_the_rest_is_counted(extra: tuple[str, ...]) -> None:
    metrics = ProcessMetrics(Resource.create())
    with capture_logs() as lines:
        metrics.counters.add("reenvio_jobs_taken_total", ("submit-claim", "stream"))
        for _ in range(3):
            metrics.counters.add("reenvio_jobs_taken_total", ("submit-claim", *extra))
        found = read_scrape(metrics.exposition().decode())
    assert found.value("reenvio_jobs_taken_total", **IDS, how="stream") == 4
    assert lines == [
        {
            "event": "metric_labels_wrong",
            "log_level": "error",
            "metric": "reenvio_jobs_taken_total",
            "labels": 2,
            "given": 1 + len(extra),
        }
    ]


def test_a_label_too_few_is_empty_and_not_shown() -> None:
    metrics = ProcessMetrics(Resource.create())
    metrics.counters.add("reenvio_jobs_taken_total", ("submit-claim",))
    assert read_scrape(metrics.exposition().decode()).value("reenvio_jobs_taken_total", **IDS) == 1


def test_a_distribution_with_a_label_too_many_is_recorded_without_it() -> None:
    metrics = ProcessMetrics(Resource.create())
    with capture_logs() as lines:
        for _ in range(2):
            metrics.distributions["reenvio_job_duration_seconds"].record(0.5, ("submit-claim", "new"))
        found = read_scrape(metrics.exposition().decode())
    assert found.value("reenvio_job_duration_seconds_count", **IDS) == 2
    assert [line["event"] for line in lines] == ["metric_labels_wrong"]


def test_a_name_that_is_not_in_the_table_is_told_of_and_disturbs_nobody() -> None:
    metrics = ProcessMetrics(Resource.create())
    with capture_logs() as lines:
        for _ in range(2):
            metrics.counters.add("reenvio_nothing_total", ("a",))
    assert [(line["event"], line["metric"]) for line in lines] == [
        ("metric_labels_wrong", "reenvio_nothing_total")
    ]
