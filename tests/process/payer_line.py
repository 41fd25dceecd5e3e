"""A line to one simulated payer over SOAP, which may fall ill and get well while claims are under way."""

import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from domain.claim_state import ClaimState
from domain.payer_status import PayerState, PayerStatus
from gateways.engine_clock import EngineClock
from gateways.practice.simulator.ledger import Ledger, LedgerEntry
from gateways.practice.simulator.scenario import PayerScenario, Scenario
from gateways.practice.simulator.server import Listening, simulated_payers
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from persistence.repositories.claims import ClaimRow
from tests.process.hospital import claim_file, claim_id
from tests.process.records import Records
from tests.process.stage import Claim, Payers, Stage, eventually
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import PAYER
from workers.app.cluster import embedded
from workers.app.composition import running
from workers.app.databases import migrate_database
from workers.claims.examination import ClaimFile
from workers.config.settings import PayerFiles, Settings
from workers.payers.orders import Orders

PASSWORD = "as-the-payer-knows-it-now"
SECRETS = {"PAYER_PASSWORD": PASSWORD}
_numbers = itertools.count(30_001)


@dataclass
class SimulatedLine:
    """A payer at one address; it may become another while its ledger goes on."""

    clock: EngineClock
    ledger: Ledger = field(default_factory=Ledger)
    port: int = 0
    _open: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def becomes(self, payer: PayerScenario) -> None:
        """Play this scenario from now on, at the same address."""
        await self.close()
        playing = simulated_payers(
            Scenario(payers=(payer,)), self.clock, Listening(port=self.port), self.ledger
        )
        self.port = (await self._open.enter_async_context(playing)).port

    async def close(self) -> None:
        """Nobody answers any more."""
        await self._open.aclose()


@dataclass(frozen=True)
class Payer:
    """A payer as one test sees it: claims on their way to it, its status here, its own ledger."""

    stage: Stage
    line: SimulatedLine
    id: str = PAYER

    @property
    def orders(self) -> Orders:
        """What a person may order."""
        app = self.stage.app
        return Orders(app.store, app.payer_limits, app.waker())

    @property
    def sends(self) -> list[LedgerEntry]:
        """The batches that reached the payer, in order."""
        return [entry for entry in self.line.ledger.entries if entry.operation == "loteGuiasWS"]

    @property
    def sent(self) -> list[str]:
        """The claims that reached the payer, in order."""
        return [claim_id(entry.lote or "") for entry in self.sends]

    def verdicts(self, claim: Claim) -> list[str]:
        """What the payer made of each send of a claim."""
        return [entry.verdict for entry in self.sends if claim_id(entry.lote or "") == claim.id.value]

    async def claim(self, *, hours: int = 48) -> Claim:
        """A file handed in, on its way to this payer."""
        file = ClaimFile(claim_file(str(next(_numbers))), deadline=f"{hours}h")
        new = await self.stage.app.intake.submit(file)

        async def started() -> int | None:
            return next(iter(self.stage.records.started_for(new.claim_id.value)), None)

        return Claim(new.claim_id, await eventually(started, f"the process of {new.claim_id}"))

    async def status(self) -> PayerStatus:
        """Where the payer stands."""
        async with self.stage.app.store.reading() as tx:
            status = await tx.payers.find(self.id)
        assert status
        return status

    async def reaches(self, state: PayerState) -> PayerStatus:
        """Wait until the payer is in a state."""

        async def look() -> PayerStatus | None:
            status = await self.status()
            return status if status.state is state else None

        return await eventually(look, f"{self.id} {state}")

    async def spends(self, claim: Claim) -> int:
        """How many attempts the claim has used."""
        async with self.stage.app.store.reading() as tx:
            return await tx.attempts.count(claim.id.value)

    async def all_called(self, claims: list[Claim], *, before: datetime) -> None:
        """Wait until every claim is through, or has a slot sooner than it had hoped for."""

        async def look(claim: Claim) -> bool | None:
            row = await self.stage.row(claim)
            return bool(row and (row.next_retry_time is None or row.next_retry_time < before)) or None

        for claim in claims:
            await eventually(lambda claim=claim: look(claim), f"a slot for {claim.id}")  # type: ignore[misc]

    async def all_accepted(self, claims: list[Claim]) -> None:
        """Let engine time pass, wait by wait, until every claim is through."""
        for claim in claims:
            while (row := await self.moved_on(claim)).state is not ClaimState.ACCEPTED:
                assert row.next_retry_time
                await self.stage.pass_until(row.next_retry_time)

    async def moved_on(self, claim: Claim) -> ClaimRow:
        """The claim once it is through, or waits for a time that is still to come."""

        async def look() -> ClaimRow | None:
            row, now = await self.stage.row(claim), await self.stage.clock.now()
            waits = row and row.next_retry_time and row.next_retry_time > now
            return row if row and (waits or row.state is ClaimState.ACCEPTED) else None

        return await eventually(look, f"{claim.id} to move on")


@dataclass(frozen=True)
class Lines:
    """Opens lines on a broker, each with a database of its own."""

    broker: engine.RunningEngine
    records: Records
    folder: Path

    @asynccontextmanager
    async def to(self, payer: PayerScenario, settings: str = "") -> AsyncIterator[Payer]:
        """A worker that sends to a payer; `settings` are ours, the scenario is the payer's own."""
        clock = EngineClock(self.broker.management_url)
        line = SimulatedLine(clock)
        await line.becomes(payer)
        given = self._settings(line, settings)
        await migrate_database(given)
        try:
            async with running(given, embedded(self.broker)) as app:
                await app.deploy()
                stage = Stage(app, clock, given, Payers(), self.records)
                async with stage.worker(app.payer):
                    yield Payer(stage, line)
        finally:
            await line.close()

    def _settings(self, line: SimulatedLine, settings: str) -> Settings:
        endpoint = f'endpoint = "http://127.0.0.1:{line.port}/{PAYER}"'
        file = payers_file(self.folder, f'[payers.{PAYER}]\n{endpoint}\nversion = "4.03.00"\n{settings}')
        database, files = sqlite_url(self.folder / "line.db"), PayerFiles(file=file)
        return Settings(home=self.folder, database_url=database, payers=files, environment=SECRETS)
