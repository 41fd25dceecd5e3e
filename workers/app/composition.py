"""The composition root: opens everything in order, closes it in reverse."""

import os
import random
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta, tzinfo

import grpc
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider

from bpmn.names import JobType, model_paths
from domain.intake import IntakeTerms
from domain.ports import Clock
from domain.submission import PayerGateway
from gateways.clock import EngineClock, WallClock
from gateways.file_sink import FileSink
from gateways.redis import RedisStream, open_stream
from gateways.sink import EventSink, SinkError
from gateways.zeebe import engine
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext, ZeebeConnection, open_channel
from persistence.database.engine import lacks_file, open_database
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import open_cipher, reading_cipher
from persistence.migrations import is_new_enough, migrate
from persistence.store import Store
from workers.app.logs import log_event
from workers.app.metrics import RelayMetrics, RuntimeMetrics
from workers.app.private_files import EVENTS_FILE, keep_private, tell_open_folders
from workers.claims.batches import Batches
from workers.claims.examination import Reader
from workers.claims.guides import GuideSearch
from workers.claims.intake import Intake
from workers.claims.messages import ClaimMessages
from workers.config.cluster import connection_from
from workers.config.settings import Settings, SettingsError
from workers.jobs import all_handlers
from workers.jobs.limits import JobLimits, slowest
from workers.jobs.services import Services, nobody_to_tell
from workers.payers.channels import PayerChannel, gateway_to, open_channels
from workers.payers.limits import LimitsByPayer, limits_by_payer
from workers.payers.practice import practice_payer
from workers.payers.waking import Waker, by_message
from workers.policy import PolicySource
from workers.runtime import Worker, WorkerOptions
from workers.runtime.events import Listener, RuntimeEvent
from workers.runtime.gate import Gate
from workers.upkeep.relay import Relay, RelayTerms


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which engine to work with, and the clock it lives by."""

    connection: ZeebeConnection
    clock: Clock


@dataclass(frozen=True, slots=True)
class App:
    """Everything that is open."""

    settings: Settings
    store: Store
    channel: grpc.aio.Channel
    commands: ZeebeCommands
    messages: ClaimMessages
    intake: Intake
    clock: Clock
    payer: PayerGateway
    channels: Mapping[str, PayerChannel]
    policy: PolicySource
    cipher: Cipher
    payer_limits: LimitsByPayer
    reopen: Callable[[], grpc.aio.Channel]
    listener: Listener

    async def deploy(self) -> None:
        """Deploy our models; equal ones keep their version."""
        await self.commands.deploy(*model_paths())

    def worker(self, only: frozenset[JobType] = frozenset(JobType), *, name: str = "reenvio") -> Worker:
        """A worker for all job types, or for a chosen set."""
        gate = Gate(self.store.answers, listener=self.listener)
        handlers = all_handlers(self.services(gate.doubt))
        chosen = [handler for handler in handlers if handler.type in only]
        options = WorkerOptions(name, jitter(), reopen=self.reopen, gate=gate, listener=self.listener)
        return Worker(self.channel, chosen, options)

    def services(self, doubt: Callable[[], None] = nobody_to_tell) -> Services:
        """What handlers work with; `doubt` is told when the database may be away."""
        return Services(
            store=self.store,
            clock=self.clock,
            payer=self.payer,
            policy=self.policy.current,
            waker=self.waker(),
            payer_limits=self.payer_limits,
            cipher=self.cipher,
            guides=GuideSearch(self.channels, self.cipher),
            periods=self.settings.retention.periods(),
            idempotency=self.settings.idempotency,
            limits=JobLimits(self.settings.handler_limits, slowest(self.channels)),
            start_received=self.intake.start_received,
            doubt=doubt,
        )

    def waker(self) -> Waker:
        """Wakes claims that wait for their payer."""
        return Waker(self.store, self.payer_limits, by_message(self.commands))


def find_cluster(settings: Settings) -> Cluster:
    """The cluster that is set, or the embedded engine if it runs."""
    if connection := connection_from(settings.cluster):
        return Cluster(connection, WallClock())
    running = engine.status(settings.engine.config())
    if running is None:
        raise engine.EngineError(
            "No engine is running here and ZEEBE_ADDRESS is not set: start one with `reenvio engine start`, "
            "start everything with `reenvio up`, or set ZEEBE_ADDRESS to your own cluster."
        )
    return embedded(running)


def clock_here(settings: Settings) -> Clock:
    """The clock that claims live by: a running embedded engine's, which may be moved, else the wall's."""
    running = None if connection_from(settings.cluster) else engine.status(settings.engine.config())
    return embedded(running).clock if running else WallClock()


def embedded(running: engine.RunningEngine) -> Cluster:
    """The embedded engine as a cluster: its clock may be moved, and ours follows it."""
    return Cluster(Plaintext(running.grpc_address), EngineClock(running.management_url))


@asynccontextmanager
async def running(settings: Settings, cluster: Cluster) -> AsyncIterator[App]:
    """Open the payers' lines, the database, the channel to the engine and what stands on them."""
    policy, files = PolicySource(settings.policy_file), settings.payers
    terms, practice = intake_terms(settings, policy.current().zone), practice_payer(files)
    async with (
        open_channels(files.file, files.trace_dir, environment=settings.environment) as channels,
        opened_store(settings) as store,
        open_channel(cluster.connection) as channel,
    ):
        commands, cipher = ZeebeCommands(channel), opened_cipher(settings)
        yield App(
            settings=settings,
            store=store,
            channel=channel,
            commands=commands,
            messages=ClaimMessages(store, commands),
            intake=Intake(store, commands, cluster.clock, Reader(channels, terms), Batches(channels, cipher)),
            clock=cluster.clock,
            payer=practice or gateway_to(channels, store),
            channels=channels,
            policy=policy,
            cipher=cipher,
            payer_limits=limits_by_payer({name: channel.settings for name, channel in channels.items()}),
            reopen=lambda: open_channel(cluster.connection),
            listener=_listener(),
        )


@asynccontextmanager
async def opened_store(settings: Settings) -> AsyncIterator[Store]:
    """The database with the schema that this version needs; a newer one is made to suit it."""
    if lacks_file(settings.database):
        raise SettingsError("There is no database yet: run `reenvio migrate` or `reenvio up`.")
    keep_private(settings)
    database = open_database(settings.database)
    try:
        if not await is_new_enough(database):
            raise SettingsError(
                "The database's schema is missing or older than this version: run `reenvio migrate`."
            )
        yield Store(database)
    finally:
        await database.dispose()


async def migrate_database(settings: Settings) -> None:
    """Bring the configured database to the newest schema."""
    keep_private(settings)
    tell_open_folders(settings)
    database = open_database(settings.database)
    try:
        await migrate(database)
    finally:
        await database.dispose()


@asynccontextmanager
async def opened_sink(settings: Settings) -> AsyncIterator[RedisStream | FileSink]:
    """Where events go: Redis where an address is set, else a file in our home."""
    sink = _redis(settings) or FileSink(settings.home / EVENTS_FILE)
    try:
        yield sink
    finally:
        await sink.close()


def _redis(settings: Settings) -> RedisStream | None:
    url = settings.events.url
    try:
        return open_stream(url.get_secret_value(), keep=settings.events.stream_limit) if url else None
    except SinkError as refused:
        raise SettingsError(str(refused)) from refused


def jitter() -> random.Random:
    """The randomness of this process's pauses."""
    return random.Random()  # noqa: S311  # no secret comes of it


def relay_to(sink: EventSink, store: Store) -> Relay:
    """A relay of this process."""
    name = f"{socket.gethostname()[:40]}-{os.getpid()}"
    provider = MeterProvider(metric_readers=[PrometheusMetricReader(disable_target_info=True)])
    metrics = RelayMetrics(provider.get_meter("reenvio"))
    return Relay(store, sink, WallClock(), RelayTerms(name, on_set_aside=metrics.set_aside))


def opened_cipher(settings: Settings) -> Cipher:
    """The cipher of the given keys, or of a key file in our home."""
    return open_cipher(_keys(settings), settings.home)


def opened_reading_cipher(settings: Settings) -> Cipher:
    """The same for who only reads: makes no key file."""
    return reading_cipher(_keys(settings), settings.home)


def _keys(settings: Settings) -> str | None:
    return settings.encryption_keys.get_secret_value() if settings.encryption_keys else None


def intake_terms(settings: Settings, zone: tzinfo) -> IntakeTerms:
    """What files and deadlines are held to."""
    return IntakeTerms(settings.intake.max_bytes, timedelta(hours=settings.intake.deadline_hours), zone)


def _listener() -> Listener:
    """Logs and metrics, both given every event."""
    provider = MeterProvider(metric_readers=[PrometheusMetricReader()])
    metrics = RuntimeMetrics(provider.get_meter("reenvio"))

    def count_and_log(event: RuntimeEvent) -> None:
        metrics.count(event)
        log_event(event)

    return count_and_log
