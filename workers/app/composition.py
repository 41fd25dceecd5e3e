"""The composition root: opens everything in order, closes it in reverse."""

import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import structlog
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider

from bpmn.names import JobType, model_paths
from domain.ports import Clock
from domain.submission import PayerGateway
from gateways.clock import EngineClock, WallClock
from gateways.practice.scripted import Script, ScriptedPayer, read_script
from gateways.zeebe import engine
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext, ZeebeConnection, open_channel
from persistence.database.engine import open_database
from persistence.encryption.cipher import Cipher
from persistence.migrations import migrate
from persistence.retention import Periods
from persistence.store import Store
from workers.app.metrics import RuntimeMetrics
from workers.app.runtime_log import log_event
from workers.app.schema import require_current
from workers.claims.batches import Batches
from workers.claims.examination import Reader
from workers.claims.intake import Intake
from workers.claims.messages import ClaimMessages
from workers.config.engine import ZeebeSettings, connection_from, read_engine_settings
from workers.config.intake import read_intake_settings
from workers.config.memory import read_memory_settings
from workers.config.settings import HandlerLimits, Settings, SettingsError
from workers.jobs import all_handlers
from workers.payers.channels import PayerChannel, gateway_to, open_channels, outlasting, slowest
from workers.payers.limits import LimitsByPayer, limits_by_payer
from workers.payers.waking import Waker, by_message
from workers.policy import PolicySource
from workers.runtime import JobHandler, Worker
from workers.runtime.events import Listener, RuntimeEvent
from workers.runtime.gate import Gate

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which engine to work with, and the clock it lives by."""

    connection: ZeebeConnection
    clock: Clock


@dataclass(frozen=True, slots=True)
class App:
    """Everything that is open."""

    store: Store
    channel: grpc.aio.Channel
    commands: ZeebeCommands
    desk: ClaimMessages
    intake: Intake
    clock: Clock
    payer: PayerGateway
    channels: Mapping[str, PayerChannel]
    policy: PolicySource
    limits: Mapping[JobType, HandlerLimits]
    cipher: Cipher
    periods: Periods
    book: LimitsByPayer
    reopen: Callable[[], grpc.aio.Channel]
    listener: Listener

    async def deploy(self) -> None:
        """Deploy our models; equal ones keep their version."""
        await self.commands.deploy(*model_paths())

    def worker(self, only: frozenset[JobType] = frozenset(JobType), *, name: str = "reenvio") -> Worker:
        """A worker for all job types, or for a chosen set."""
        gate = Gate(self.store.answers, listener=self.listener)
        handlers = all_handlers(
            self.store,
            self.payer,
            self.policy.current,
            self.clock,
            cipher=self.cipher,
            periods=self.periods,
            waker=self.waker(),
            start_received=self.intake.start_received,
            limited=self._limited,
            doubt=gate.doubt,
        )
        chosen = [handler for handler in handlers if handler.type in only]
        return Worker(
            self.channel,
            chosen,
            name=name,
            rng=random.Random(),  # noqa: S311  # jitter, not a secret
            reopen=self.reopen,
            gate=gate,
            listener=self.listener,
        )

    def waker(self) -> Waker:
        """Wakes claims that wait for their payer."""
        return Waker(self.store, self.book, by_message(self.commands))

    def _limited(self, handler: JobHandler) -> JobHandler:
        limits = self.limits.get(JobType(handler.type), HandlerLimits())
        return outlasting(slowest(self.channels), handler, limits)


def find_cluster(zeebe: ZeebeSettings, config: engine.EngineConfig) -> Cluster:
    """The cluster named in the environment, or the embedded engine if it runs."""
    if connection := connection_from(zeebe):
        return Cluster(connection, WallClock())
    running = engine.status(config)
    if running is None:
        raise engine.EngineError(
            "No engine is running here and ZEEBE_ADDRESS is not set: start one with `reenvio engine start`, "
            "start everything with `reenvio up`, or set ZEEBE_ADDRESS to your own cluster."
        )
    return embedded(running)


def clock_here(zeebe: ZeebeSettings, config: engine.EngineConfig) -> Clock:
    """The clock that claims live by: a running embedded engine's, which may be moved, else the wall's."""
    running = None if connection_from(zeebe) else engine.status(config)
    return embedded(running).clock if running else WallClock()


def embedded(running: engine.RunningEngine) -> Cluster:
    """The embedded engine as a cluster: its clock may be moved, and ours follows it."""
    return Cluster(Plaintext(running.grpc_address), EngineClock(running.management_url))


@asynccontextmanager
async def running(settings: Settings, cluster: Cluster) -> AsyncIterator[App]:
    """Open the database, the channel and what stands on them."""
    policy = PolicySource(settings.policy_file)
    memory, terms = read_memory_settings(), read_intake_settings().terms(policy.current().zone)
    practice = _practice_payer(settings)
    async with AsyncExitStack() as stack:
        opened = open_channels(settings.payers_file, settings.payer_trace_dir)
        channels = await stack.enter_async_context(opened)
        database = open_database(settings.database)
        stack.push_async_callback(database.dispose)
        await require_current(database)
        channel = open_channel(cluster.connection)
        stack.push_async_callback(channel.close)
        commands = ZeebeCommands(channel)
        store, cipher = Store(database), memory.cipher(settings.reenvio_home)
        yield App(
            store=store,
            channel=channel,
            commands=commands,
            desk=ClaimMessages(store, commands),
            intake=Intake(store, commands, cluster.clock, Reader(channels, terms), Batches(channels, cipher)),
            clock=cluster.clock,
            payer=practice or gateway_to(channels, store),
            channels=channels,
            policy=policy,
            limits=settings.handler_limits,
            cipher=cipher,
            periods=memory.periods(),
            book=limits_by_payer({name: channel.settings for name, channel in channels.items()}),
            reopen=lambda: open_channel(cluster.connection),
            listener=_listener(),
        )


def _listener() -> Listener:
    """Logs and metrics, both told everything."""
    provider = MeterProvider(metric_readers=[PrometheusMetricReader()])
    metrics = RuntimeMetrics(provider.get_meter("reenvio"))

    def hear(happening: RuntimeEvent) -> None:
        metrics.hear(happening)
        log_event(happening)

    return hear


async def migrate_database(settings: Settings) -> None:
    """Bring the configured database to the newest schema."""
    database = open_database(settings.database)
    try:
        await migrate(database)
    finally:
        await database.dispose()


def _practice_payer(settings: Settings) -> PayerGateway | None:
    """The scripted payer, unless real ones are configured."""
    if settings.payers_file is None:
        return ScriptedPayer(_script(settings.payer_script))
    if settings.payer_script is not None:
        raise SettingsError("PAYERS_FILE and PAYER_SCRIPT are both set: unset the one you do not mean.")
    return None


def _script(file: Path | None) -> Script:
    if file is None:
        log.warning(
            "practice_payer", advice="no payer is configured: every claim is accepted, nothing leaves"
        )
        return Script()
    try:
        return read_script(file)
    except ValueError as error:
        raise SettingsError(f"PAYER_SCRIPT: {error}") from error


def engine_config() -> engine.EngineConfig:
    """The embedded engine's settings from the environment."""
    return read_engine_settings().config()
