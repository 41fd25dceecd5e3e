"""The intake alone, for who hands files in and does nothing else: no jobs, no mail, no metrics are loaded."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta, tzinfo

from domain.intake import IntakeTerms
from gateways.zeebe.channel import open_channel
from persistence.audit.seals import seals_of
from persistence.encryption.keys import require_key
from workers.app.beginnings import begin_trail
from workers.app.ciphers import opened_cipher
from workers.app.cluster import Cluster, clock_of
from workers.app.databases import opened_store
from workers.app.tracing.export import opened_tracing
from workers.claims.batches import Batches
from workers.claims.examination import Reader
from workers.claims.intake import Intake
from workers.config.settings import Settings
from workers.payers.channels import checking_channels
from workers.payers.practice import practice_payer, require_payers
from workers.policy import PolicySource
from workers.upkeep.keys import KeyWatch


@asynccontextmanager
async def opened_intake(settings: Settings, cluster: Cluster) -> AsyncIterator[Intake]:
    """Like `claims_flowing`, as far as the intake goes: not without payers, nor without the right keys."""
    require_payers(settings.payers)
    practice_payer(settings.payers)
    channels = checking_channels(settings.payers.file, settings.environment)
    async with (
        opened_tracing(settings.telemetry) as tracing,
        opened_store(settings) as opened,
        open_channel(cluster.connection) as channel,
    ):
        cipher = await opened_cipher(settings, opened)
        store = opened.sealed_with(seals_of(cipher)).watched_by(tracing.watch)
        await begin_trail(settings, store)
        require_key(cipher)
        await KeyWatch(store, cipher).start()
        commands, clock = tracing.commands(channel, cipher), clock_of(cluster, settings, store)
        reader = Reader(channels, configured_terms(settings), cipher)
        yield Intake(store, commands, clock, reader, Batches(channels, cipher))


def configured_terms(settings: Settings) -> IntakeTerms:
    """The terms in the zone of the policy that is set."""
    return intake_terms(settings, PolicySource(settings.policy_file).current().zone)


def intake_terms(settings: Settings, zone: tzinfo) -> IntakeTerms:
    """What files and deadlines are held to."""
    return IntakeTerms(settings.intake.max_bytes, timedelta(hours=settings.intake.deadline_hours), zone)
