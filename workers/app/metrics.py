"""Metrics of the runtime, for /metrics; no value of a process variable is ever a label.

| metric                            | kind      | labels            | says                                  |
|-----------------------------------|-----------|-------------------|----------------------------------------|
| reenvio_jobs_taken_total          | counter   | type, how         | jobs that came in, by stream or poll  |
| reenvio_jobs_done_total           | counter   | type, outcome     | jobs reported, and how                |
| reenvio_jobs_settled_before_total | counter   | type              | reports the engine had already        |
| reenvio_jobs_expired_total        | counter   | type              | jobs whose lock ended in the queue     |
| reenvio_jobs_crashed_total        | counter   | type, error       | handlers that met an unforeseen error |
| reenvio_reports_retried_total     | counter   | type, status      | reports sent again                    |
| reenvio_reports_given_up_total    | counter   | type, status      | reports that got through too late     |
| reenvio_gateway_failures_total    | counter   | type, how, status | requests for jobs that failed         |
| reenvio_job_duration_seconds      | histogram | type              | time a handler took                   |
"""

from opentelemetry.metrics import Counter, Meter

from workers.runtime.events import (
    GatewayFailed,
    JobCrashed,
    JobDone,
    JobExpired,
    JobTaken,
    ReportGivenUp,
    ReportRetried,
    RuntimeEvent,
)

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 240)


class RuntimeMetrics:
    """Counts the runtime's events."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._taken = self._counter("jobs_taken", "Jobs that came in")
        self._done = self._counter("jobs_done", "Jobs reported")
        self._settled = self._counter("jobs_settled_before", "Reports that the engine had already")
        self._expired = self._counter("jobs_expired", "Jobs whose lock ended while they waited here")
        self._crashed = self._counter("jobs_crashed", "Handlers that met an unforeseen error")
        self._retried = self._counter("reports_retried", "Reports sent again")
        self._given_up = self._counter("reports_given_up", "Reports that did not get through in time")
        self._failures = self._counter("gateway_failures", "Requests for jobs that failed")
        self._seconds = meter.create_histogram(
            "reenvio_job_duration",
            unit="s",
            description="Time a handler took",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )

    def count(self, event: RuntimeEvent) -> None:
        """Count one event."""
        match event:
            case JobTaken(type=job_type, how=how):
                self._taken.add(1, {"type": job_type, "how": how})
            case JobDone():
                self._count_done(event)
            case JobExpired(type=job_type):
                self._expired.add(1, {"type": job_type})
            case JobCrashed(type=job_type, error=error):
                self._crashed.add(1, {"type": job_type, "error": error})
            case ReportRetried(type=job_type, status=status):
                self._retried.add(1, {"type": job_type, "status": status})
            case ReportGivenUp(type=job_type, status=status):
                self._given_up.add(1, {"type": job_type, "status": status})
            case GatewayFailed(type=job_type, how=how, status=status):
                self._failures.add(1, {"type": job_type, "how": how, "status": status})

    def _count_done(self, done: JobDone) -> None:
        self._done.add(1, {"type": done.type, "outcome": done.outcome})
        self._seconds.record(done.seconds, {"type": done.type})
        if done.settled_before:
            self._settled.add(1, {"type": done.type})

    def _counter(self, name: str, description: str) -> Counter:
        return self._meter.create_counter(f"reenvio_{name}", description=description)
