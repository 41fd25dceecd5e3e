"""What libraries write to Python's own log: a line of ours each, without a word of their text."""

import logging
import time
from collections.abc import Callable, Iterable
from enum import Enum

import structlog

from workers.app.telemetry.troubles import SIGNALS, Complaint, Troubles

log = structlog.get_logger(__name__)
TELEMETRY = "opentelemetry"


def hear_libraries() -> None:
    """From now on libraries' warnings and errors, asyncio's too, are lines of our log."""
    root = logging.getLogger()
    for old in _listening(root):
        root.removeHandler(old)
    root.addHandler(LibraryLines(logging.WARNING))


def arrived(signal: str) -> None:
    """The collector has taken traces or metrics: what troubled them is over."""
    for lines in _listening(logging.getLogger()):
        lines.recovered(signal)


def _listening(root: logging.Logger) -> Iterable["LibraryLines"]:
    return [handler for handler in root.handlers if isinstance(handler, LibraryLines)]


class LibraryLines(logging.Handler):
    """Tells who complains and where, and of an exception its type: texts quote headers, addresses, data.

    A trouble of the telemetry is told when it begins, then ever more rarely, and when it is over.
    """

    def __init__(self, level: int = logging.NOTSET, seconds: Callable[[], float] = time.monotonic) -> None:
        super().__init__(level)
        self._troubles = Troubles(seconds)

    def emit(self, record: logging.LogRecord) -> None:
        """One line, or none for what was told a while ago."""
        error, where = _error(record), f"{record.module}:{record.lineno}"
        if record.name.split(".")[0] == TELEMETRY:
            self._telemetry(Complaint(record.name, _signal(record), _status(record), error, where))
        elif record.levelno >= logging.ERROR:
            log.error("library_failed", part=record.name, where=where, error=error)
        else:
            log.warning("library_warned", part=record.name, where=where, error=error)

    def recovered(self, signal: str) -> None:
        """Tell once that what troubled a signal is over."""
        self.acquire()
        try:
            if times := self._troubles.end(signal):
                log.info("telemetry_recovered", signal=signal, times=times)
        finally:
            self.release()

    def _telemetry(self, trouble: Complaint) -> None:
        if times := self._troubles.heard(trouble):
            told = {"part": trouble.part, "where": trouble.where, "signal": trouble.signal}
            log.warning("telemetry_trouble", status=trouble.status, error=trouble.error, times=times, **told)


def _error(record: logging.LogRecord) -> str | None:
    kind = record.exc_info[0] if record.exc_info else None
    return kind.__name__ if kind else None


def _status(record: logging.LogRecord) -> str | None:
    """The name of gRPC's status, which is one of a closed set."""
    return next((one.name for one in _given(record) if isinstance(one, Enum)), None)


def _signal(record: logging.LogRecord) -> str | None:
    """What was to be sent, which is one of a closed set."""
    return next((one for one in _given(record) if isinstance(one, str) and one in SIGNALS), None)


def _given(record: logging.LogRecord) -> Iterable[object]:
    return record.args if isinstance(record.args, tuple) else ()
