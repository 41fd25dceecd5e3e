"""What the runtime tells is counted by job type, and mail's many lanes are one."""

from opentelemetry.sdk.resources import Resource

from tests.support.scraped import read_scrape
from workers.app.telemetry.metrics import ProcessMetrics
from workers.app.telemetry.runtime import RuntimeMetrics
from workers.runtime.events import JobCrashed, JobDone, JobTaken, LoopCrashed


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
