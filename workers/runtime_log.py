"""Logs of the runtime: one event per happening, ids and codes only."""

import logging
from dataclasses import asdict

import structlog

from workers.runtime.happenings import (
    GatewayFailed,
    Happening,
    IntakeHeld,
    IntakeResumed,
    JobCrashed,
    JobDone,
    JobExpired,
    ReportGivenUp,
    ReportRetried,
    StreamsUnknown,
)

_EVENTS: dict[type[Happening], tuple[int, str]] = {
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


def log_happening(happening: Happening) -> None:
    """Write what matters to an operator; ordinary work is at debug level or silent."""
    if told := _EVENTS.get(type(happening)):
        level, event = told
        log.log(level, event, **asdict(happening))
