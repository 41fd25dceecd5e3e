"""Runs workers until a signal: the first drains, the second stops at once."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import timedelta

import structlog
from starlette.applications import Starlette

from bpmn.names import JobType
from domain.errors import InvalidPolicy
from workers.app.composition import App, jitter, opened_sink, opened_store, relay_to
from workers.app.probes import free_descriptors, probes, serving_probes
from workers.config.settings import Settings
from workers.policy import PolicySource
from workers.runtime import Worker
from workers.runtime.loop_watch import watched_loop
from workers.upkeep.sinks import check_sink

log = structlog.get_logger(__name__)
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
FORCED_EXIT = 130


async def serve(app: App, only: frozenset[JobType], stop: asyncio.Event) -> None:
    """Work until `stop`, then drain; SIGHUP reloads the policy."""
    worker, settings = app.worker(only), app.settings
    async with AsyncExitStack() as stack:
        stack.enter_context(reload_on_hangup(app.policy))
        await stack.enter_async_context(watched_loop(app.listener))
        if settings.probes.port is not None:
            served = serving_probes(worker_probes(app, worker), settings.probes.host, settings.probes.port)
            port = await stack.enter_async_context(served)
            log.info("probes_started", port=port)
        drain = timedelta(seconds=settings.drain_seconds)
        types, longest = [str(job_type) for job_type in sorted(only)], worker.longest_drain(drain)
        log.info("worker_started", types=types, stops_within_seconds=longest.total_seconds())
        await worker.run(stop, drain=drain)
        log.info("worker_stopped")


def worker_probes(app: App, worker: Worker) -> Starlette:
    """The probes of a worker: its loops, its gateway, its database and its keys."""
    return probes(worker.health, [free_descriptors, app.store.trouble, app.keys.trouble])


@asynccontextmanager
async def relaying(settings: Settings) -> AsyncIterator[None]:
    """A relay beside the block."""
    stop = asyncio.Event()
    async with opened_store(settings) as store, opened_sink(settings) as sink:
        relay = relay_to(await check_sink(sink, settings.events), store)
        carrying = asyncio.create_task(relay.run(stop, jitter()))
        try:
            yield
        finally:
            stop.set()
            await carrying


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
            os._exit(FORCED_EXIT)  # at once: not even a blocking handler's thread is waited for
        stop.set()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, on_signal)
    try:
        yield stop
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
