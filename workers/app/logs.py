"""Structured logs: one JSON object or one readable line per event, to standard error."""

import logging
import sys
from dataclasses import asdict
from typing import Literal

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from workers.app.correlation import naming_its_job
from workers.app.library_logs import hear_libraries
from workers.runtime.events import (
    GatewayFailed,
    JobCrashed,
    JobDone,
    JobExpired,
    JobsHeld,
    JobsResumed,
    LoopBlocked,
    LoopCrashed,
    RenewalFailed,
    ReportGivenUp,
    ReportRetried,
    RuntimeEvent,
    StreamsUnknown,
)

log = structlog.get_logger(__name__)
OF_THE_RUNTIME: dict[type[RuntimeEvent], tuple[int, str]] = {
    GatewayFailed: (logging.WARNING, "gateway_failed"),
    RenewalFailed: (logging.ERROR, "renewal_failed"),
    LoopCrashed: (logging.ERROR, "loop_crashed"),
    LoopBlocked: (logging.WARNING, "loop_blocked"),
    StreamsUnknown: (logging.WARNING, "streams_unknown"),
    JobsHeld: (logging.WARNING, "intake_held"),
    JobsResumed: (logging.INFO, "intake_resumed"),
    JobCrashed: (logging.ERROR, "job_crashed"),
    JobExpired: (logging.WARNING, "job_expired"),
    JobDone: (logging.DEBUG, "job_done"),
    ReportRetried: (logging.INFO, "report_retried"),
    ReportGivenUp: (logging.ERROR, "report_given_up"),
}


def configure_logs(level: str, style: Literal["json", "console"]) -> None:
    """Set up structlog for this process, and let libraries speak through it."""
    renderer: Processor = structlog.processors.JSONRenderer(ensure_ascii=False)
    if style == "console":
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            naming_its_job,
            structlog.processors.add_log_level,
            as_documents_spell_it,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    hear_libraries()


def as_documents_spell_it(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    """The level of a warning is `warn`, as in document 03."""
    if line.get("level") == "warning":
        line["level"] = "warn"
    return line


def log_event(event: RuntimeEvent) -> None:
    """Write what matters to an operator, ids and codes only; ordinary work is at debug level or silent."""
    if known := OF_THE_RUNTIME.get(type(event)):
        level, name = known
        log.log(level, name, **{key: _short(value) for key, value in asdict(event).items()})


def _short(value: object) -> object:
    """Seconds to the millisecond."""
    return round(value, 3) if isinstance(value, float) else value
