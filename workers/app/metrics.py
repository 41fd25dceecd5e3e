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
| reenvio_loops_crashed_total       | counter   | type, how, error  | loops for jobs that had to start over |
| reenvio_job_duration_seconds      | histogram | type              | time a handler took                   |
| reenvio_loop_blocked_seconds      | histogram |                   | turns of the event loop that came late |
| reenvio_events_set_aside_total    | counter   |                   | outbox rows that cannot be published  |
"""

from collections.abc import Mapping

from opentelemetry.metrics import Counter, Meter

from workers.runtime.events import (
    GatewayFailed,
    JobCrashed,
    JobDone,
    JobExpired,
    JobTaken,
    LoopBlocked,
    LoopCrashed,
    RenewalFailed,
    ReportGivenUp,
    ReportRetried,
    RuntimeEvent,
)

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 240)


class RelayMetrics:
    """Counts what the relay cannot publish."""

    def __init__(self, meter: Meter) -> None:
        self._aside = meter.create_counter(
            "reenvio_events_set_aside", description="Outbox rows that cannot be published"
        )
        self._aside.add(0)

    def set_aside(self, number: int) -> None:
        """Count events that were set aside."""
        self._aside.add(number)


class RuntimeMetrics:
    """Counts the runtime's events."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._counters: Mapping[type[RuntimeEvent], tuple[Counter, tuple[str, ...]]] = {
            JobTaken: self._counter("jobs_taken", "Jobs that came in", "type", "how"),
            JobDone: self._counter("jobs_done", "Jobs reported", "type", "outcome"),
            JobExpired: self._counter("jobs_expired", "Jobs whose lock ended while they waited here", "type"),
            JobCrashed: self._counter(
                "jobs_crashed", "Handlers that met an unforeseen error", "type", "error"
            ),
            ReportRetried: self._counter("reports_retried", "Reports sent again", "type", "status"),
            ReportGivenUp: self._counter(
                "reports_given_up", "Reports that did not get through in time", "type", "status"
            ),
            GatewayFailed: self._counter(
                "gateway_failures", "Requests for jobs that failed", "type", "how", "status"
            ),
            RenewalFailed: self._counter(
                "renewals_failed", "Channels that could not be opened for a refused token", "error"
            ),
            LoopCrashed: self._counter(
                "loops_crashed", "Loops for jobs that had to start over", "type", "how", "error"
            ),
        }
        self._settled, _ = self._counter("jobs_settled_before", "Reports that the engine had already")
        self._seconds = meter.create_histogram(
            "reenvio_job_duration",
            unit="s",
            description="Time a handler took",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )
        self._blocked = meter.create_histogram(
            "reenvio_loop_blocked",
            unit="s",
            description="Time that the event loop was kept from its turn, where over 0.1 s",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )

    def count(self, event: RuntimeEvent) -> None:
        """Count one event."""
        if known := self._counters.get(type(event)):
            counter, labels = known
            counter.add(1, {label: getattr(event, label) for label in labels})
        if isinstance(event, LoopBlocked):
            self._blocked.record(event.seconds)
        if isinstance(event, JobDone):
            self._seconds.record(event.seconds, {"type": event.type})
            self._settled.add(int(event.settled_before), {"type": event.type})

    def _counter(self, name: str, description: str, *labels: str) -> tuple[Counter, tuple[str, ...]]:
        return self._meter.create_counter(f"reenvio_{name}", description=description), labels
