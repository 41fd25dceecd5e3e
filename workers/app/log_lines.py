"""Writes the log's lines; one that nobody takes is lost, and keeps nobody from work."""

from typing import TextIO

import structlog

log = structlog.get_logger(__name__)


class LogLines(structlog.PrintLogger):
    """A disk that is full, or a reader that is gone, costs lines alone: whoever logs must not fail for it.

    All loggers of a process share one, so that it can tell how many were not written.
    """

    def __init__(self, file: TextIO) -> None:
        super().__init__(file)
        self._unwritten = 0

    def __call__(self, *_names: object) -> "LogLines":
        """Itself, for whoever asks for a logger."""
        return self

    def msg(self, message: str) -> None:
        """Write a line; the first that is taken again is followed by one about those before it."""
        try:
            super().msg(message)
        except (OSError, ValueError):  # ValueError: the file is closed
            self._unwritten += 1
            return
        if lines := self._unwritten:
            self._unwritten = 0
            log.warning("log_not_written", lines=lines)

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg
