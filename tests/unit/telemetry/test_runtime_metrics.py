"""What the runtime tells is counted by job type, and mail's many lanes are one."""

import pytest
from opentelemetry.sdk.resources import Resource

from tests.support.scraped import read_scrape
from workers.app.telemetry.metrics import ProcessMetrics
from workers.app.telemetry.runtime import RuntimeMetrics
from workers.runtime.events import (
    GatewayFailed,
    JobCrashed,
    JobDone,
    JobExpired,
    JobTaken,
    LoopCrashed,
    RenewalFailed,
    ReportGivenUp,
    ReportRetried,
    RuntimeEvent,
)

SENDS = {"type": "submit-claim"}
AWAY = "UNAVAILABLE"
TROUBLES: dict[str, tuple[RuntimeEvent, dict[str, str]]] = {
    "reenvio_jobs_expired_total": (JobExpired("submit-claim", 1), SENDS),
    "reenvio_reports_retried_total": (ReportRetried("submit-claim", 1, AWAY, 0.5), SENDS | {"status": AWAY}),
    "reenvio_reports_given_up_total": (ReportGivenUp("submit-claim", 1, AWAY), SENDS | {"status": AWAY}),
    "reenvio_gateway_failures_total": (
        GatewayFailed("submit-claim", "poll", AWAY, 0.5),
        SENDS | {"how": "poll", "status": AWAY},
    ),
    "reenvio_renewals_failed_total": (RenewalFailed("OSError"), {"error": "OSError"}),
}


def test_mails_lanes_are_counted_as_one_job_type() -> None:
    metrics = ProcessMetrics(Resource.create())
    runtime = RuntimeMetrics(metrics)
    for lane in range(64):
        runtime.count(JobTaken(f"send-email-{lane}", "stream"))
        runtime.count(JobDone(f"send-email-{lane}", lane, "complete", 0.1, settled_before=True))
    runtime.count(JobDone("submit-claim", 100, "complete", 0.1, settled_before=False))
    found = read_scrape(metrics.exposition().decode())
    taken = {labels: number for labels, number in found.of("reenvio_jobs_taken_total").items() if number}
    assert taken == {frozenset({("type", "send-email"), ("how", "stream")}): 64}
    assert found.value("reenvio_jobs_done_total", type="send-email", outcome="complete") == 64
    assert found.value("reenvio_jobs_settled_before_total", type="send-email") == 64
    assert found.of("reenvio_job_duration_seconds_count") == {
        frozenset({("type", "send-email")}): 64,
        frozenset({("type", "submit-claim")}): 1,
    }


def test_the_first_crash_of_a_job_or_a_loop_is_a_step_from_zero() -> None:
    metrics = ProcessMetrics(Resource.create())
    runtime = RuntimeMetrics(metrics)
    before = read_scrape(metrics.exposition().decode())
    runtime.count(JobCrashed("submit-claim", 1, "KeyError", ()))
    runtime.count(LoopCrashed("send-email-3", "poll", "KeyError", (), 1.0))
    after = read_scrape(metrics.exposition().decode())
    for name, labels in (
        ("reenvio_jobs_crashed_total", {"type": "submit-claim"}),
        ("reenvio_loops_crashed_total", {"type": "send-email", "how": "poll"}),
    ):
        assert (before.value(name, **labels), after.value(name, **labels)) == (0, 1)
        assert set(before.of(name)) == set(after.of(name))


@pytest.mark.parametrize("name", TROUBLES)
def test_a_trouble_of_the_runtime_is_counted_with_what_is_known_of_it(name: str) -> None:
    metrics = ProcessMetrics(Resource.create())
    event, labels = TROUBLES[name]
    runtime = RuntimeMetrics(metrics)
    for _ in range(2):
        runtime.count(event)
    assert read_scrape(metrics.exposition().decode()).value(name, **labels) == 2
