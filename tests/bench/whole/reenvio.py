"""Reenvio as a contender, of this tree or of another revision's."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import httpx
from sqlalchemy import select
from sqlalchemy.ext.asyncio import create_async_engine

from bpmn.names import JobType
from persistence.encryption.keys import new_key
from persistence.tables import claims
from tests.bench.whole.contenders import Ground
from tests.bench.whole.program import ROOT, Program
from tests.bench.whole.stage import LOOK_SECONDS, READY_SECONDS, Files, Stage

TOKEN = "a-token-of-the-bench-of-the-whole-way"
LONG_ENOUGH = "8000"
"""Hours to a claim's deadline: none runs out, however far the engine's clock is moved."""


@dataclass(frozen=True, slots=True)
class Reenvio:
    """Our commands: `claim submit` for a folder, `work`, and `work` with the HTTP interface for single files.

    `embedded`: it finds the engine as its own, and lives by its clock; else it is given an address.
    """

    name: str = "reenvio"
    tree: Path = ROOT
    embedded: bool = True

    @asynccontextmanager
    async def ground(self, stage: Stage, kind: str, name: str) -> AsyncIterator[Ground]:
        """A migrated database, with our models deployed."""
        async with stage.database(kind, name) as url:
            home = stage.folder / name / "home"
            home.mkdir()
            ground = Ground(stage, kind, url, JobType.SUBMIT_CLAIM, home, self._environment(stage, url, home))
            await self.command(ground, "migrate")
            yield ground

    async def hand_in(self, ground: Ground, files: Files) -> float | None:
        """Hand in a folder; our models are the newest again, whoever played before."""
        await self.command(ground, "deploy")
        return files.count / await self.command(ground, "claim", "submit", str(files.folder))

    async def command(self, ground: Ground, *words: str) -> float:
        """Run a command of ours to its end; the seconds it took."""
        log = ground.folder / f"{words[0]}.log"
        cores = ground.stage.cores
        return await Program("workers.cli", words, ground.environment, log, self.tree, cores).run()

    async def hold(self, ground: Ground, payer: str) -> None:
        """Hold a payer's claims until someone lets them go."""
        await self.command(ground, "payer", "pause", payer, "--reason", "bench", "--by", "bench", "--yes")

    def worker(self, ground: Ground, files: Files) -> Program:
        """One worker with everything it has."""
        counts = ground.folder / f"counts-{files.first}"
        log = ground.log("work", files)
        return Program(
            "workers.cli",
            ["work"],
            ground.environment,
            log,
            self.tree,
            cores=ground.stage.cores,
            counts=counts,
        )

    @asynccontextmanager
    async def desk(self, ground: Ground, files: Files) -> AsyncIterator["ReenvioDesk"]:
        """The worker takes claims in over HTTP beside its work."""
        await self.command(ground, "deploy")
        port, worker = _free_port(), self.worker(ground, files)
        environment = {**worker.environment, "API_PORT": str(port), "API_TOKENS": TOKEN}
        url, headers = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {TOKEN}"}
        async with (
            replace(worker, environment=environment).running(),
            httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=60) as http,
        ):
            await _answering(http)
            yield ReenvioDesk(http, ground.url, files)

    def _environment(self, stage: Stage, url: str, home: Path) -> dict[str, str]:
        address = stage.broker.engine.grpc_address
        where = {"ENGINE_HOME": str(stage.broker.home)} if self.embedded else {"ZEEBE_ADDRESS": address}
        return where | {
            "REENVIO_HOME": str(home),
            "DATABASE_URL": url,
            "ENCRYPTION_KEYS": new_key("bench"),
            "PAYERS_FILE": str(stage.payers(home / "payers.toml")),
            "CLAIM_DEADLINE_HOURS": LONG_ENOUGH,
            "LOG_LEVEL": "info",  # a job that is put off says so there
            "LOG_FORMAT": "json",
        }


@dataclass(frozen=True, slots=True)
class ReenvioDesk:
    """Hands files in over HTTP."""

    http: httpx.AsyncClient
    url: str
    files: Files
    numbers: dict[str, int] = field(default_factory=dict)

    async def hand_in(self, number: int) -> None:
        """Hand one in."""
        kind = {"Content-Type": "application/xml"}
        answer = await self.http.post("/api/claims", content=self.files.read(number), headers=kind)
        self.numbers[answer.raise_for_status().json()["claimId"]] = number

    async def ended(self) -> Mapping[int, datetime]:
        """When each was last written to: with its protocol."""
        engine = create_async_engine(self.url)
        query = select(claims.c.claim_id, claims.c.updated_at).where(claims.c.protocol_number.is_not(None))
        async with engine.connect() as connection:
            rows = (await connection.execute(query)).all()
        await engine.dispose()
        return {self.numbers[row.claim_id]: row.updated_at for row in rows if row.claim_id in self.numbers}


async def _answering(http: httpx.AsyncClient) -> None:
    async with asyncio.timeout(READY_SECONDS):
        while True:
            try:
                await http.get("/api/claims/CLM-NOBODY-1")
            except httpx.TransportError:
                await asyncio.sleep(LOOK_SECONDS)
            else:
                return


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
