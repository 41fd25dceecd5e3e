"""Counts what the runtime emits."""

from collections.abc import Callable, Mapping

from bpmn.names import JobType
from workers.app.telemetry.counters import Values
from workers.app.telemetry.metrics import ProcessMetrics
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

COUNTED: Mapping[type[RuntimeEvent], tuple[str, tuple[str, ...]]] = {
    JobTaken: ("reenvio_jobs_taken_total", ("type", "how")),
    JobDone: ("reenvio_jobs_done_total", ("type", "outcome")),
    JobExpired: ("reenvio_jobs_expired_total", ("type",)),
    JobCrashed: ("reenvio_jobs_crashed_total", ("type", "error")),
    ReportRetried: ("reenvio_reports_retried_total", ("type", "status")),
    ReportGivenUp: ("reenvio_reports_given_up_total", ("type", "status")),
    GatewayFailed: ("reenvio_gateway_failures_total", ("type", "how", "status")),
    RenewalFailed: ("reenvio_renewals_failed_total", ("error",)),
    LoopCrashed: ("reenvio_loops_crashed_total", ("type", "how", "error")),
}
SETTLED_BEFORE, EXPIRED = "reenvio_jobs_settled_before_total", "reenvio_jobs_expired_total"


class RuntimeMetrics:
    """Counts the runtime's events."""

    def __init__(self, metrics: ProcessMetrics) -> None:
        self._counters = metrics.counters
        self._seconds = metrics.distributions["reenvio_job_duration_seconds"]
        self._blocked = metrics.distributions["reenvio_loop_blocked_seconds"]
        self._counted = {kind: (name, _values(fields)) for kind, (name, fields) in COUNTED.items()}
        for name in (SETTLED_BEFORE, EXPIRED):
            self._counters.begin(name, ((job_type.value,) for job_type in JobType))

    def count(self, event: RuntimeEvent) -> None:
        """Count one event."""
        if known := self._counted.get(type(event)):
            name, values = known
            self._counters.add(name, values(event))
        if isinstance(event, LoopBlocked):
            self._blocked.record(event.seconds)
        elif isinstance(event, JobDone):
            self._seconds.record(event.seconds, (event.type,))
            if event.settled_before:
                self._counters.add(SETTLED_BEFORE, (event.type,))


def _values(fields: tuple[str, ...]) -> Callable[[RuntimeEvent], Values]:
    """The values of an event's fields."""
    return lambda event: tuple(getattr(event, name) for name in fields)
