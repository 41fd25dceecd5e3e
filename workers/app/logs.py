"""Structured logs: one JSON object or one readable line per event, to standard error."""

import codecs
import logging
import math
import sys
from dataclasses import asdict
from typing import Literal

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from domain.legible import printable, printable_line
from workers.app.correlation import naming_its_job
from workers.app.log_lines import LogLines
from workers.app.telemetry.library_logs import hear_libraries
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
    rendering: list[Processor] = [finite, structlog.processors.JSONRenderer(ensure_ascii=not _takes_utf_8())]
    if style == "console":
        rendering = [shown_plainly, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    structlog.configure(
        processors=[
            naming_its_job,
            structlog.processors.add_log_level,
            as_documents_spell_it,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *rendering,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=LogLines(sys.stderr),
        cache_logger_on_first_use=True,
    )
    hear_libraries()


def as_documents_spell_it(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    """The level of a warning is `warn`, as in document 03."""
    if line.get("level") == "warning":
        line["level"] = "warn"
    return line


def finite(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    """JSON knows no NaN and no infinity: they are null."""
    return {key: _finite(value) for key, value in line.items()}


def shown_plainly(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    """What a terminal would obey is shown as its escape."""
    shown = {key: printable_line(value) if isinstance(value, str) else value for key, value in line.items()}
    if isinstance(stack := line.get("stack"), list):
        shown["stack"] = printable("".join(stack))  # structlog writes it below the line, and as text only
    return shown


def log_event(event: RuntimeEvent) -> None:
    """Write what matters to an operator, ids and codes only; ordinary work is at debug level or silent."""
    if known := OF_THE_RUNTIME.get(type(event)):
        level, name = known
        log.log(level, name, **{key: _short(value) for key, value in asdict(event).items()})


def _short(value: object) -> object:
    """Seconds to the millisecond."""
    return round(value, 3) if isinstance(value, float) else value


def _finite(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(one) for key, one in value.items()}
        case list() | tuple():
            return [_finite(one) for one in value]
    return value


def _takes_utf_8() -> bool:
    """Whether letters can be written as they are: another encoding would make escapes that are no JSON."""
    encoding = getattr(sys.stderr, "encoding", None)
    return encoding is None or codecs.lookup(encoding).name == "utf-8"
