"""The composition root: opens everything in order, closes it in reverse."""

import os
import random
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import grpc

from bpmn.names import JobType, model_paths
from domain.observations import Observe
from domain.ports import Clock
from domain.submission import PayerGateway
from gateways.clock import CountedClock, WallClock
from gateways.sink import EventSink
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from persistence.audit.seals import seals_of
from persistence.clock import DatabaseClock
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import require_key
from persistence.store import Store
from workers.app.beginnings import begin_trail
from workers.app.ciphers import opened_cipher
from workers.app.cluster import Cluster, clock_check, clock_of
from workers.app.correlation import correlated
from workers.app.databases import opened_for_retention, opened_store
from workers.app.intake import intake_terms
from workers.app.logs import log_event
from workers.app.mail import MailGround, mail_services, opened_gateway
from workers.app.observation_logs import log_observation
from workers.app.observers import all_of
from workers.app.telemetry.database import both
from workers.app.telemetry.metering import Metering, job_metering
from workers.app.tracing.export import opened_tracing
from workers.app.tracing.spans import Untraced
from workers.claims.batches import Batches
from workers.claims.examination import Reader
from workers.claims.guides import GuideSearch
from workers.claims.intake import Intake
from workers.claims.messages import ClaimMessages
from workers.config.settings import Settings
from workers.jobs import all_handlers
from workers.jobs.limits import JobLimits, slowest
from workers.jobs.services import Services, nobody_to_tell
from workers.mail.services import MailServices
from workers.payers.channels import PayerChannel, gateway_to, open_channels
from workers.payers.limits import LimitsByPayer, limits_by_payer
from workers.payers.places import Places
from workers.payers.practice import practice_payer, require_payers
from workers.payers.waking import Waker, by_message
from workers.policy import PolicySource
from workers.policy.following import PolicyFollower
from workers.runtime.events import JobTaken, Listener, RuntimeEvent
from workers.runtime.gate import Gate
from workers.runtime.handler import JobHandler
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker
from workers.upkeep.clocks import ClockCheck
from workers.upkeep.keys import KeyWatch
from workers.upkeep.relay import Relay, RelayTerms, nobody_counts
from workers.upkeep.standing import nudges_by


@dataclass(frozen=True, slots=True)
class App:
    """Everything that is open."""

    settings: Settings
    store: Store
    retention_store: Store
    channel: grpc.aio.Channel
    commands: ZeebeCommands
    messages: ClaimMessages
    intake: Intake
    clock: Clock
    clock_check: ClockCheck
    payer: PayerGateway
    channels: Mapping[str, PayerChannel]
    policy: PolicySource
    follower: PolicyFollower
    cipher: Cipher
    payer_limits: LimitsByPayer
    keys: KeyWatch
    reopen: Callable[[], grpc.aio.Channel]
    mail: MailServices
    listener: Listener
    observe: Observe
    tracing: Untraced
    metering: Metering

    async def deploy(self) -> None:
        """Deploy our models; equal ones keep their version."""
        await self.commands.deploy(*model_paths())

    def worker(self, only: frozenset[JobType] = frozenset(JobType), *, name: str = "reenvio") -> Worker:
        """A worker for all job types, or for a chosen set."""
        gate = Gate(self.store.answers, listener=self.listener)
        handlers = all_handlers(self.services(gate.doubt))
        chosen = [self.watched(handler) for handler in handlers if handler.type in only]
        options = WorkerOptions(name, jitter(), reopen=self.reopen, gate=gate, listener=self.listener)
        return Worker(self.channel, chosen, options, {JobType.SEND_EMAIL: self.mail.lanes.terms()})

    def services(self, doubt: Callable[[], None] = nobody_to_tell) -> Services:
        """What handlers work with; `doubt` is told when the database may be away."""
        return Services(
            store=self.store,
            retention_store=self.retention_store,
            clock=self.clock,
            payer=self.tracing.payer(self.payer),
            practice=self.settings.payers.practises,
            policy=self.policy.current,
            waker=self.waker(),
            payer_limits=self.payer_limits,
            cipher=self.cipher,
            guides=GuideSearch(self.channels, self.cipher),
            periods=self.settings.retention.periods(),
            clock_check=self.clock_check,
            idempotency=self.settings.idempotency,
            limits=JobLimits(self.settings.handler_limits, slowest(self.channels)),
            mail=self.mail,
            start_received=self.intake.start_received,
            process_runs=self.commands.runs,
            process_ended=self.commands.was_ended,
            nudges=nudges_by(self.commands),
            doubt=doubt,
            observe=self.observe,
            places=Places(jitter=jitter().random),
        )

    def watched(self, handler: JobHandler) -> JobHandler:
        """The handler, in its span if there is one, and with its ids on what is logged meanwhile."""
        return correlated(self.tracing.handler(handler, self.cipher), self.cipher, self.tracing.trace_of)

    def waker(self) -> Waker:
        """Wakes claims that wait for their payer."""
        return Waker(self.store, self.payer_limits, by_message(self.commands.publish), self.observe)


@asynccontextmanager
async def running(settings: Settings, cluster: Cluster) -> AsyncIterator[App]:
    """Open the payers' lines, the database, the channel to the engine and what stands on them."""
    policy, practice = PolicySource(settings.policy_file), practice_payer(settings.payers)
    async with (
        opened_tracing(settings.telemetry) as tracing,
        _open_lines(settings, tracing) as channels,
        opened_store(settings) as opened,
        opened_for_retention(settings, opened) as retention_store,
        open_channel(cluster.connection) as channel,
        opened_gateway(settings) as mail_gateway,
    ):
        cipher = await opened_cipher(settings, opened)
        commands = tracing.commands(channel, cipher)
        metering = job_metering(settings, channels, policy.current().catalog)
        store = opened.sealed_with(seals_of(cipher)).watched_by(both(tracing.watch, metering.watch))
        await begin_trail(settings, store)
        follower = PolicyFollower(store, policy)
        await follower.look()
        terms = intake_terms(settings, policy.current().zone)
        clock = clock_of(cluster, settings, store)
        observe = all_of(tracing.observe, metering.observe, log_observation)
        ground = MailGround(store, clock, cipher, tracing.mail(mail_gateway), commands.publish, observe)
        yield App(
            settings=settings,
            store=store,
            retention_store=retention_store,
            channel=channel,
            commands=commands,
            messages=ClaimMessages(store, commands),
            intake=Intake(store, commands, clock, Reader(channels, terms, cipher), Batches(channels, cipher)),
            clock=clock,
            clock_check=clock_check(settings, store, clock, cluster.clock),
            payer=practice or gateway_to(channels, store, clock),
            channels=channels,
            policy=policy,
            follower=follower,
            cipher=cipher,
            payer_limits=limits_by_payer({name: channel.settings for name, channel in channels.items()}),
            keys=KeyWatch(store, cipher),
            mail=mail_services(settings, ground),
            reopen=lambda: open_channel(cluster.connection),
            listener=_listener(clock, metering.listener),
            observe=observe,
            tracing=tracing,
            metering=metering,
        )


def _open_lines(
    settings: Settings, tracing: Untraced
) -> AbstractAsyncContextManager[Mapping[str, PayerChannel]]:
    files, environment = settings.payers, settings.environment
    return open_channels(files.file, files.trace_dir, environment=environment, watched=tracing.line)


@asynccontextmanager
async def sealing(settings: Settings, cluster: Cluster) -> AsyncIterator[App]:
    """Like `running` for who writes the audit trail: not without the key that seals it."""
    async with running(settings, cluster) as app:
        require_key(app.cipher)
        yield app


@asynccontextmanager
async def working(settings: Settings, cluster: Cluster) -> AsyncIterator[App]:
    """Like `sealing` for every worker: not with a key under another's id either, nor by a policy that is
    not the one in force.
    """
    async with sealing(settings, cluster) as app:
        await app.keys.start()
        await app.follower.begin()
        yield app


@asynccontextmanager
async def claims_flowing(settings: Settings, cluster: Cluster) -> AsyncIterator[App]:
    """Like `working` for who sends claims or takes them in: not without payers."""
    require_payers(settings.payers)
    async with working(settings, cluster) as app:
        yield app


Opening = Callable[[Settings, Cluster], AbstractAsyncContextManager[App]]


def jitter() -> random.Random:
    """The randomness of this process's pauses."""
    return random.Random()  # noqa: S311  # no secret comes of it


def relay_to(sink: EventSink, store: Store, on_set_aside: Callable[[int], None] = nobody_counts) -> Relay:
    """A relay of this process; leases of relays on different machines end by one clock."""
    name = f"{socket.gethostname()[:40]}-{os.getpid()}"
    clock = DatabaseClock(store.time, WallClock())
    return Relay(store, sink, clock, RelayTerms(name, on_set_aside=on_set_aside))


def _listener(clock: Clock, count: Listener) -> Listener:
    """Logs and metrics, both given every event; an engine's clock is told of every job."""

    def count_and_log(event: RuntimeEvent) -> None:
        if isinstance(event, JobTaken) and isinstance(clock, CountedClock):
            clock.gave_out(event.gave_out)
        count(event)
        log_event(event)

    return count_and_log
