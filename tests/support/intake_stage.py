"""The intake on a real database, with a recorder of messages instead of a whole engine."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from domain.access import Role
from domain.intake import IntakeTerms
from gateways.zeebe.channel import open_channel
from gateways.zeebe.commands import ZeebeCommands
from gateways.zeebe.connection import Plaintext
from persistence.encryption.keys import cipher_of, new_key
from persistence.store import Store
from tests.support.builders import POLICY
from tests.support.faults.messages import MessageBroker, message_broker
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import NOW, PAYER, file_bytes, file_text
from workers.api.ground import ApiGround
from workers.claims.batches import Batches
from workers.claims.examination import Reader
from workers.claims.intake import Intake
from workers.config.intake import SystemToken
from workers.payers.channels import open_channels
from workers.payers.limits import LimitsByPayer
from workers.payers.orders import Orders
from workers.payers.waking import Waker

PAYERS = f"""
[payers.{PAYER}]
endpoint = "https://payer.example"
version = "4.03.00"
"""
API_TOKEN = SystemToken("erp", frozenset({Role.INTAKE}), "t" * 32)
ZONE = ZoneInfo("America/Sao_Paulo")
FILE = file_bytes(file_text())
DERIVED = f"CLM-{PAYER}-PREST0001-200000000001"


class HandClock:
    """A clock that the test moves."""

    def __init__(self, moment: datetime = NOW) -> None:
        self.moment = moment

    async def now(self) -> datetime:
        return self.moment

    def wait(self, **time: float) -> None:
        self.moment += timedelta(**time)


@dataclass(frozen=True, slots=True)
class IntakeStage:
    """The intake, where its messages go, and its clock."""

    intake: Intake
    broker: MessageBroker
    clock: HandClock

    @property
    def store(self) -> Store:
        return self.intake.store

    def ground(self, *tokens: SystemToken) -> ApiGround:
        """What the HTTP interface stands on, for these systems."""
        limits = LimitsByPayer({})
        orders = Orders(self.store, limits, Waker(self.store, limits))
        return ApiGround(self.intake, orders, lambda: POLICY, tokens)

    async def events(self, claim: str = DERIVED) -> Sequence[str]:
        async with self.store.reading() as tx:
            return [entry.event for entry in await tx.journal.of_claim(claim)]


@asynccontextmanager
async def intake_stage(
    store: Store, folder: Path, *, max_bytes: int = 1_000_000, payers: str = PAYERS
) -> AsyncIterator[IntakeStage]:
    """The intake for one payer, or for these."""
    file, clock, cipher = payers_file(folder, payers), HandClock(), cipher_of(new_key("k1"))
    async with (
        message_broker() as broker,
        open_channels(file) as channels,
        open_channel(Plaintext(broker.address)) as channel,
    ):
        reader = Reader(channels, IntakeTerms(max_bytes, timedelta(hours=48), ZONE), cipher)
        yield IntakeStage(
            Intake(store, ZeebeCommands(channel), clock, reader, Batches(channels, cipher)), broker, clock
        )
