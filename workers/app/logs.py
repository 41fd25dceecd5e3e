"""Structured logs: one JSON object or one readable line per event, to standard error."""

import logging
import sys
from typing import Literal

import structlog
from structlog.typing import Processor


def configure_logs(level: str, style: Literal["json", "console"]) -> None:
    """Set up structlog for this process."""
    renderer: Processor = structlog.processors.JSONRenderer()
    if style == "console":
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
