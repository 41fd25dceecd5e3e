"""Runs workers until a signal: the first drains, the second stops at once."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from bpmn.names import JobType
from domain.errors import InvalidPolicy
from workers.bootstrap import App
from workers.policy import PolicySource

log = structlog.get_logger(__name__)
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
FORCED_EXIT = 130


async def serve(app: App, only: frozenset[JobType]) -> None:
    """Work until SIGINT or SIGTERM, then drain; SIGHUP reloads the policy."""
    with stop_on_signal() as stop, reload_on_hangup(app.policy):
        log.info("worker_started", types=[str(job_type) for job_type in sorted(only)])
        await app.worker(only).run(stop)
        log.info("worker_stopped")


@contextmanager
def reload_on_hangup(policy: PolicySource) -> Iterator[None]:
    """SIGHUP reads the policy file again; a file that is not valid changes nothing."""

    def on_hangup() -> None:
        try:
            log.info("policy_reloaded", version=policy.reload().label)
        except InvalidPolicy as refused:
            log.error("policy_refused", why=str(refused))  # noqa: TRY400  # the reason, not the stack

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, on_hangup)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


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
