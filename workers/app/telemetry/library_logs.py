"""What libraries write to Python's own log: a line of ours each, without a word of their text."""

import logging
from collections.abc import Iterable
from enum import Enum

import structlog

log = structlog.get_logger(__name__)
TELEMETRY = "opentelemetry"


def hear_libraries() -> None:
    """From now on libraries' warnings and errors, asyncio's too, are lines of our log."""
    root = logging.getLogger()
    if not any(isinstance(handler, LibraryLines) for handler in root.handlers):
        root.addHandler(LibraryLines(logging.WARNING))


class LibraryLines(logging.Handler):
    """Tells who complains and where, and of an exception its type: texts quote headers, addresses, data."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        error, where = _error(record), f"{record.module}:{record.lineno}"
        if record.name.split(".")[0] == TELEMETRY:
            log.warning(
                "telemetry_trouble", part=record.name, where=where, status=_status(record), error=error
            )
        elif record.levelno >= logging.ERROR:
            log.error("library_failed", part=record.name, where=where, error=error)
        else:
            log.warning("library_warned", part=record.name, where=where, error=error)


def _error(record: logging.LogRecord) -> str | None:
    kind = record.exc_info[0] if record.exc_info else None
    return kind.__name__ if kind else None


def _status(record: logging.LogRecord) -> str | None:
    """The name of gRPC's status, which is one of a closed set."""
    given: Iterable[object] = record.args if isinstance(record.args, tuple) else ()
    return next((one.name for one in given if isinstance(one, Enum)), None)
