"""Logs of the runtime: one event per happening, ids and codes only."""

import logging
from dataclasses import asdict

import structlog

from workers.runtime.events import (
    GatewayFailed,
    IntakeHeld,
    IntakeResumed,
    JobCrashed,
    JobDone,
    JobExpired,
    ReportGivenUp,
    ReportRetried,
    RuntimeEvent,
    StreamsUnknown,
)

_EVENTS: dict[type[RuntimeEvent], tuple[int, str]] = {
    GatewayFailed: (logging.WARNING, "gateway_failed"),
    StreamsUnknown: (logging.WARNING, "streams_unknown"),
    IntakeHeld: (logging.WARNING, "intake_held"),
    IntakeResumed: (logging.INFO, "intake_resumed"),
    JobCrashed: (logging.ERROR, "job_crashed"),
    JobExpired: (logging.WARNING, "job_expired"),
    JobDone: (logging.DEBUG, "job_done"),
    ReportRetried: (logging.INFO, "report_retried"),
    ReportGivenUp: (logging.ERROR, "report_given_up"),
}
log = structlog.get_logger(__name__)


def log_event(happening: RuntimeEvent) -> None:
    """Write what matters to an operator; ordinary work is at debug level or silent."""
    if told := _EVENTS.get(type(happening)):
        level, event = told
        log.log(level, event, **asdict(happening))
