"""Runs workers until a signal: the first drains, the second stops at once."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from bpmn.names import JobType
from workers.bootstrap import App

log = structlog.get_logger(__name__)
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
FORCED_EXIT = 130


async def serve(app: App, only: frozenset[JobType]) -> None:
    """Work until SIGINT or SIGTERM, then drain."""
    with stop_on_signal() as stop:
        log.info("worker_started", types=sorted(only))
        await app.worker(only).run(stop)
        log.info("worker_stopped")


@contextmanager
def stop_on_signal() -> Iterator[asyncio.Event]:
    """An event that the first signal sets; a second signal ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            raise SystemExit(FORCED_EXIT)
        stop.set()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, on_signal)
    try:
        yield stop
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
