"""What the runtime tells is counted by job type, and mail's many lanes are one."""

from opentelemetry.sdk.resources import Resource

from tests.support.scraped import read_scrape
from workers.app.telemetry.metrics import ProcessMetrics
from workers.app.telemetry.runtime import RuntimeMetrics
from workers.runtime.events import JobDone, JobTaken


def test_mails_lanes_are_counted_as_one_job_type() -> None:
    metrics = ProcessMetrics(Resource.create())
    runtime = RuntimeMetrics(metrics)
    for lane in range(64):
        runtime.count(JobTaken(f"send-email-{lane}", "stream"))
        runtime.count(JobDone(f"send-email-{lane}", lane, "complete", 0.1, settled_before=True))
    runtime.count(JobDone("submit-claim", 100, "complete", 0.1, settled_before=False))
    found = read_scrape(metrics.exposition().decode())
    assert found.of("reenvio_jobs_taken_total") == {
        frozenset({("type", "send-email"), ("how", "stream")}): 64
    }
    assert found.value("reenvio_jobs_done_total", type="send-email", outcome="complete") == 64
    assert found.value("reenvio_jobs_settled_before_total", type="send-email") == 64
    assert found.of("reenvio_job_duration_seconds_count") == {
        frozenset({("type", "send-email")}): 64,
        frozenset({("type", "submit-claim")}): 1,
    }
