"""What all contenders share: a broker, a simulated payer that answers at once, a database, files."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from gateways.practice.simulator.ledger import TAKEN
from gateways.zeebe.engine import SilentReporter
from tests.bench.databases import postgresql_database, sqlite_database
from tests.bench.whole.program import Program, ProgramError, pin
from tests.support.broker import BenchBroker, bench_broker
from tests.support.tiss_samples import PAYER, file_bytes, file_text

PER_MINUTE, AT_ONCE = 60_000, 32
LOOK_SECONDS, READY_SECONDS = 0.05, 30.0
WORKER_CORES, OTHER_CORES = (0,), (1,)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a contender plays; `cores` are the worker's when the programs are tied to cores."""

    folder: Path
    broker: BenchBroker
    payer_url: str
    payer_pid: int
    cores: tuple[int, ...] | None

    def files(self, name: str, count: int, first: int) -> Path:
        """A folder of batches with one guide each, numbered from `first`."""
        folder = self.folder / name
        folder.mkdir()
        for number in range(first, first + count):
            text = file_text(f"{number:012d}", first=number)
            (folder / f"{number:09d}.xml").write_bytes(file_bytes(text))
        return folder

    def payers(self) -> Path:
        """The PAYERS_FILE of this payer."""
        file = self.folder / "payers.toml"
        file.write_text(
            f'[payers.{PAYER}]\nendpoint = "{self.payer_url}"\nversion = "4.03.00"\n'
            f"requests_per_minute = {PER_MINUTE}\nat_once = {AT_ONCE}\n",
            encoding="utf-8",
        )
        return file


@asynccontextmanager
async def stage(folder: Path, *, pinned: bool) -> AsyncIterator[Stage]:
    """Broker and payer, each a process of its own."""
    async with bench_broker(SilentReporter()) as broker, _payer(folder) as (url, pid):
        if pinned:
            pin(broker.engine.pid, OTHER_CORES)
            pin(pid, OTHER_CORES)
        yield Stage(folder, broker, url, pid, WORKER_CORES if pinned else None)


@asynccontextmanager
async def database(kind: str, folder: Path) -> AsyncIterator[str]:
    """A fresh database of the kind; its address."""
    await asyncio.to_thread(folder.mkdir)
    async with sqlite_database(folder) if kind == "sqlite" else postgresql_database(folder) as url:
        yield url


@asynccontextmanager
async def _payer(folder: Path) -> AsyncIterator[tuple[str, int]]:
    scenario, log = folder / "scenario.toml", folder / "payer.log"
    scenario.write_text(f'[[payers]]\nregistro_ans = "{PAYER}"\n', encoding="utf-8")
    arguments = ("simulate-payer", "--scenario", str(scenario), "--port", "0")
    async with Program("workers.cli", arguments, {"COLUMNS": "300"}, log).running() as pid:
        yield await _announced(log), pid


async def _announced(log: Path) -> str:
    """The payer's address, as the simulator prints it."""
    async with asyncio.timeout(READY_SECONDS):
        while True:
            if url := _address_in(log):
                return url
            await asyncio.sleep(LOOK_SECONDS)


def _address_in(log: Path) -> str | None:
    words = log.read_text(encoding="utf-8").split()
    return next((word for word in words if word.startswith("http") and word.endswith(f"/{PAYER}")), None)


async def taken(url: str) -> int:
    """How many batches the payer has taken; raises where one was taken twice."""
    async with httpx.AsyncClient(trust_env=False) as http:
        rows = (await http.get(f"{url.rsplit('/', 1)[0]}/_ledger")).json()
    batches = [row["lote"] for row in rows if row["verdict"] == TAKEN]
    if len(set(batches)) != len(batches):
        raise ProgramError("the payer took a batch twice")
    return len(batches)
