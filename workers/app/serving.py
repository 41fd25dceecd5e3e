"""Runs workers until a signal: the first drains, the second stops at once."""

import asyncio
import os
import signal
import traceback
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from uuid import uuid4

import structlog
from starlette.applications import Starlette

from bpmn.names import JobType
from domain.errors import InvalidPolicy
from persistence.store import Store
from workers.app.composition import App, jitter, relay_to
from workers.app.event_sinks import opened_sink
from workers.app.garbage import settle
from workers.app.measuring import measured, readiness, relay_sources
from workers.app.order_log import orders_told
from workers.app.probes import Check, answered, free_descriptors, probe_routes, probed, probes
from workers.app.telemetry.metering import Metering
from workers.config.settings import Settings
from workers.mail.tenants import TenantNotes, tenants_noted
from workers.policy import PolicySource
from workers.policy.following import following
from workers.runtime import cancellation
from workers.runtime.loop_watch import watched_loop
from workers.runtime.timings import Backoff
from workers.runtime.worker import Worker
from workers.upkeep.relay import Relay
from workers.upkeep.sinks import check_sink

log = structlog.get_logger(__name__)
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
FORCED_EXIT = 130
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


async def serve(app: App, only: frozenset[JobType], stop: asyncio.Event) -> None:
    """Work until `stop`, then drain; SIGHUP reloads the policy."""
    worker, settings = app.worker(only), app.settings
    async with AsyncExitStack() as stack:
        stack.enter_context(reload_on_hangup(app.policy))
        await stack.enter_async_context(following(app.follower))
        await stack.enter_async_context(watched_loop(app.listener))
        app.metering.metrics.gauges.add(readiness([answered(worker.health), *_checks(app)]))
        await stack.enter_async_context(measured(app))
        await stack.enter_async_context(orders_told(app.store, app.cipher))
        if JobType.SEND_EMAIL in only:
            notes = TenantNotes(app.store, app.clock, uuid4().hex)
            await stack.enter_async_context(tenants_noted(notes, app.mail.lanes.order))
        await stack.enter_async_context(probed(settings.probes, worker_probes(app, worker)))
        drain = timedelta(seconds=settings.drain_seconds)
        types, longest = [str(job_type) for job_type in sorted(only)], worker.longest_drain(drain)
        settle()
        log.info("worker_started", types=types, stops_within_seconds=longest.total_seconds())
        await worker.run(stop, drain=drain)
        log.info("worker_stopped")


def worker_probes(app: App, worker: Worker) -> Starlette:
    """The probes of a worker: its loops, its gateway, its database and its keys."""
    return probes(worker.health, _checks(app), app.metering.metrics.exposition)


def api_probes(app: App) -> Starlette:
    """The probes of who takes claims in and works on none."""
    return probe_routes([], _checks(app), app.metering.metrics.exposition)


def _checks(app: App) -> Sequence[Check]:
    return [free_descriptors, app.store.trouble, app.keys.trouble]


@asynccontextmanager
async def relaying(settings: Settings, store: Store, metering: Metering) -> AsyncIterator[None]:
    """A relay beside the block; one that ends by itself is told of and begun again.

    It works on the store of whoever else writes in this process: they take turns.
    """
    stop = asyncio.Event()
    async with opened_sink(settings) as sink:
        metering.set_aside(0)
        for source in relay_sources(sink):
            metering.metrics.gauges.add(source)
        relay = relay_to(await check_sink(sink, settings.events), store, metering.set_aside)
        carrying = asyncio.create_task(_kept_running(relay, stop))
        try:
            yield
        finally:
            stop.set()
            await carrying


async def _kept_running(relay: Relay, stop: asyncio.Event) -> None:
    """Run it until stopped: whoever works beside it would not see that it has ended."""
    backoff = Backoff(jitter(), FIRST_PAUSE, LONGEST_PAUSE)
    while not stop.is_set():
        error = await _run_once(relay, stop)
        if stop.is_set():
            return
        pause, stack = backoff.pause(), traceback.format_tb(error.__traceback__) if error else []
        name = type(error).__name__ if error else None  # its text may quote an event
        log.error("relay_ended", error=name, stack=stack, begins_again_in_seconds=round(pause, 1))
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), pause)


async def _run_once(relay: Relay, stop: asyncio.Event) -> BaseException | None:
    """What it ended with, if it was not by itself; our own stop is nobody's error."""
    try:
        await relay.run(stop, jitter())
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and cancellation.is_ours():
            raise
        return error
    return None


@contextmanager
def reload_on_hangup(policy: PolicySource) -> Iterator[None]:
    """SIGHUP reads the policy file again; a file that is not valid changes nothing."""

    def on_hangup() -> None:
        try:
            log.info("policy_reloaded", version=policy.reload().label, in_force=policy.current().label)
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
