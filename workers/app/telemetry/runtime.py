"""Counts what the runtime emits."""

from collections.abc import Callable, Mapping
from itertools import product

from bpmn.names import JobType
from workers.app.telemetry.counters import Values
from workers.app.telemetry.label_names import type_label
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
from workers.runtime.job_source import POLL, STREAM

COUNTED: Mapping[type[RuntimeEvent], tuple[str, tuple[str, ...]]] = {
    JobTaken: ("reenvio_jobs_taken_total", ("type", "how")),
    JobDone: ("reenvio_jobs_done_total", ("type", "outcome")),
    JobExpired: ("reenvio_jobs_expired_total", ("type",)),
    JobCrashed: ("reenvio_jobs_crashed_total", ("type",)),
    ReportRetried: ("reenvio_reports_retried_total", ("type", "status")),
    ReportGivenUp: ("reenvio_reports_given_up_total", ("type", "status")),
    GatewayFailed: ("reenvio_gateway_failures_total", ("type", "how", "status")),
    RenewalFailed: ("reenvio_renewals_failed_total", ("error",)),
    LoopCrashed: ("reenvio_loops_crashed_total", ("type", "how")),
}
TYPE = "type"
SETTLED_BEFORE = "reenvio_jobs_settled_before_total"
BY_TYPE = (SETTLED_BEFORE, "reenvio_jobs_expired_total", "reenvio_jobs_crashed_total")
BY_WAY = ("reenvio_jobs_taken_total", "reenvio_loops_crashed_total")
REPORTED_AS = ("complete", "throw", "fail", "incident", "postpone", "hand-back")


class RuntimeMetrics:
    """Counts the runtime's events."""

    def __init__(self, metrics: ProcessMetrics) -> None:
        self._counters = metrics.counters
        self._seconds = metrics.distributions["reenvio_job_duration_seconds"]
        self._blocked = metrics.distributions["reenvio_loop_blocked_seconds"]
        self._counted = {kind: (name, _values(fields)) for kind, (name, fields) in COUNTED.items()}
        self._begin()

    def count(self, event: RuntimeEvent) -> None:
        """Count one event."""
        if known := self._counted.get(type(event)):
            name, values = known
            self._counters.add(name, values(event))
        if isinstance(event, LoopBlocked):
            self._blocked.record(event.seconds)
        elif isinstance(event, JobDone):
            job_type = type_label(event.type)
            self._seconds.record(event.seconds, (job_type,))
            if event.settled_before:
                self._counters.add(SETTLED_BEFORE, (job_type,))

    def _begin(self) -> None:
        """Show what is known at 0: the first trouble of a kind is a step too."""
        types = [job_type.value for job_type in JobType]
        for name in BY_TYPE:
            self._counters.begin(name, ((one,) for one in types))
        for name in BY_WAY:
            self._counters.begin(name, product(types, (STREAM, POLL)))
        self._counters.begin("reenvio_jobs_done_total", product(types, REPORTED_AS))
        self._blocked.begin([()])


def _values(fields: tuple[str, ...]) -> Callable[[RuntimeEvent], Values]:
    """The values of an event's fields; mail's lanes are one type."""

    def values(event: RuntimeEvent) -> Values:
        given = {name: getattr(event, name) for name in fields}
        return tuple(type_label(value) if name == TYPE else value for name, value in given.items())

    return values
