"""A hospital with a real payer's line: simulator, payer settings, command line and HTTP on one broker."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr

from domain.claim_state import ClaimState
from gateways.engine_clock import EngineClock
from gateways.practice.simulator.scenario import Scenario
from gateways.practice.simulator.server import Simulator, simulated_payers
from gateways.zeebe import engine
from persistence.database.engine import sqlite_url
from persistence.encryption.keys import made_cipher
from persistence.repositories.claims import ClaimRow
from tests.process.stage import LOOK_SECONDS, eventually
from tests.support.command_line import environment, run_reenvio
from tests.support.orders import answered
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import CARD, DOCTOR, PAYER, file_bytes, file_text
from workers.api import serving_api
from workers.app.cluster import Cluster, embedded
from workers.app.composition import App, running
from workers.app.databases import migrate_database
from workers.config.intake import ApiSettings
from workers.config.settings import PayerFiles, Settings

PATIENT, NAME = "88877766655544433", "Maria Fictícia de Sá"
TOKEN = "hospital-token-" + "x" * 32
SCENARIO = {
    "payers": [
        {
            "registro_ans": PAYER,
            "rules": [
                {"lote": "77*", "arrivals": [1], "then": {"do": "refuse", "code": "1801"}},
                {"lote": "66*", "arrivals": [1], "then": {"do": "drop"}},
                {"lote": "89*", "arrivals": [1], "then": {"do": "garbage", "kind": "bad-hash"}},
            ],
        }
    ]
}


def claim_file(number: str, first: int | None = None) -> bytes:
    """A batch with a patient of its own; its guides are numbered after it."""
    text = file_text(number, first=first or int(number))
    return file_bytes(text.replace(CARD, PATIENT).replace(DOCTOR, NAME))


def claim_id(number: str) -> str:
    """The id such a batch gets."""
    return f"CLM-{PAYER}-PREST0001-{number}"


async def reenvio(environment: Mapping[str, str], *arguments: str) -> tuple[int, str]:
    """Run a command as a person would; its exit code and all it said."""
    done = await run_reenvio(environment, *arguments, together=True)
    return done.returncode, done.stdout


@dataclass(frozen=True, slots=True)
class Hospital:
    """Everything a test asks for."""

    app: App
    settings: Settings
    cluster: Cluster
    simulator: Simulator
    environment: Mapping[str, str]
    folder: Path

    def write(self, name: str, data: bytes) -> str:
        """A file to hand in; its path."""
        file = self.folder / name
        file.write_bytes(data)
        return str(file)

    async def advance(self, by: timedelta) -> None:
        """Move the engine's clock, and wait until the application has seen it."""
        assert isinstance(self.cluster.clock, EngineClock)
        moved = await self.cluster.clock.advance(by)
        while await self.app.clock.now() < moved:
            await asyncio.sleep(LOOK_SECONDS)

    async def reenvio(self, *arguments: str) -> tuple[int, str]:
        """Run a command as a person would; its exit code and all it said."""
        return await reenvio(self.environment, *answered(*arguments))

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """A worker for all jobs."""
        stop = asyncio.Event()
        task = asyncio.create_task(self.app.worker(name="hospital").run(stop))
        try:
            yield
        finally:
            stop.set()
            await task

    @asynccontextmanager
    async def http(self) -> AsyncIterator[httpx.AsyncClient]:
        """The HTTP interface, and another system that uses it."""
        settings = ApiSettings(port=0, tokens=SecretStr(TOKEN))
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "text/xml"}
        async with serving_api(self.app, settings) as port:
            base = f"http://127.0.0.1:{port}"
            async with httpx.AsyncClient(base_url=base, headers=headers, trust_env=False) as client:
                yield client

    async def reaches(self, claim: str, state: ClaimState) -> ClaimRow:
        """Wait until a claim is in a state."""

        async def look() -> ClaimRow | None:
            async with self.app.store.reading() as tx:
                row = await tx.claims.find(claim)
            return row if row and row.state is state else None

        return await eventually(look, f"{claim} {state}")

    async def awaits_its_retry(self, claim: str) -> None:
        """Wait until a send has failed and its retry was decided: a slot for the first send is a wait too."""

        async def look() -> bool | None:
            async with self.app.store.reading() as tx:
                row = await tx.claims.find(claim)
            return (row is not None and row.state is ClaimState.WAITING and row.retry_count == 1) or None

        await eventually(look, f"retry 1 of {claim}")

    def arrivals(self, number: str) -> int:
        """How often a batch reached the payer."""
        return self.simulator.ledger.arrivals(PAYER, number)


@asynccontextmanager
async def open_hospital(
    broker: engine.RunningEngine,
    engine_home: Path,
    folder: Path,
    database: str | None = None,
    *,
    scenario: Scenario | None = None,
    **others: Any,
) -> AsyncIterator[Hospital]:
    """A hospital on a running broker, with the given database or an SQLite file, and other settings."""
    clock = EngineClock(broker.management_url)
    async with simulated_payers(scenario or Scenario.model_validate(SCENARIO), clock) as simulator:
        endpoint = f'endpoint = "{simulator.url}/{PAYER}"'
        payers = payers_file(folder, f'[payers.{PAYER}]\n{endpoint}\nversion = "4.03.00"\n')
        address = database or sqlite_url(folder / "test.db")
        settings = Settings(home=folder, database_url=address, payers=PayerFiles(file=payers), **others)
        await migrate_database(settings)
        made_cipher(folder)
        cluster = embedded(broker)
        async with running(settings, cluster) as app:
            await app.deploy()
            environment = environment_of(settings, engine_home)
            yield Hospital(app, settings, cluster, simulator, environment, folder)


def environment_of(settings: Settings, engine_home: Path) -> Mapping[str, str]:
    """What a command needs to know to work on the same database, payers and engine."""
    given = {
        "DATABASE_URL": settings.database,
        "PAYERS_FILE": str(settings.payers.file),
        "ENGINE_HOME": str(engine_home),
        "COLUMNS": "200",
    }
    return environment(settings.home, **given)
