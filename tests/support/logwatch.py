"""Reads every line that is logged while it watches, and keeps those that tell a secret."""

import logging
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import structlog
from structlog.typing import EventDict, WrappedLogger

KEPT = 20


class LogWatch(logging.Handler):
    """Listens to structlog and to the standard library's logging, at every level."""

    def __init__(self, secret: str) -> None:
        super().__init__(logging.DEBUG)
        self._secret = secret
        self.events: Counter[str] = Counter()
        self.leaks: list[str] = []
        self.errors: list[str] = []

    def processor(self, _logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
        """Structlog's end of the line."""
        self._read(str(event.get("event")), f"{event} {_trace(event.get('exc_info'))}")
        raise structlog.DropEvent

    def emit(self, record: logging.LogRecord) -> None:
        """The standard library's end of the line."""
        text = self.format(record)
        self._read(record.name, text)
        if record.levelno >= logging.ERROR and len(self.errors) < KEPT:
            self.errors.append(text)

    def note(self, event: object) -> None:
        """What the runtime emits to its listeners, who may log it."""
        self._read(type(event).__name__, repr(event))

    def _read(self, name: str, text: str) -> None:
        self.events[name] += 1
        if self._secret in text and len(self.leaks) < KEPT:
            self.leaks.append(text)


def _trace(exc_info: object) -> str:
    match exc_info:
        case BaseException():
            return "".join(traceback.format_exception(exc_info))
        case (_, BaseException() as error, TracebackType() | None):
            return "".join(traceback.format_exception(error))
        case None | False:
            return ""
        case _:
            return traceback.format_exc()


@contextmanager
def watching(secret: str) -> Iterator[LogWatch]:
    """Watch all logs of this process for as long as the block runs."""
    watch, root = LogWatch(secret), logging.getLogger()
    level, handlers, processors = root.level, root.handlers, structlog.get_config()["processors"]
    usual = list(processors)
    processors[:] = [watch.processor]  # in place: loggers that are bound already keep this list
    structlog.configure(processors=processors)
    root.handlers = [watch]  # alone: a test runner's own handler would keep every record
    root.setLevel(logging.DEBUG)
    try:
        yield watch
    finally:
        root.handlers = handlers
        root.setLevel(level)
        processors[:] = usual
