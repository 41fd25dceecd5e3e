"""What all contenders share: a broker, a simulated payer that answers at once, a database, files."""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from gateways.practice.simulator.ledger import TAKEN
from gateways.zeebe.engine import SilentReporter
from persistence.database.engine import sqlite_url
from tests.bench.cores import OTHER_CORES, WORKER_CORES, pin
from tests.bench.databases import postgresql_server, server
from tests.bench.whole.program import Program, ProgramError
from tests.support.broker import BenchBroker, bench_broker
from tests.support.tiss_samples import PAYER, file_bytes, file_text

OTHER_PAYER = "888888"
"""Who has a breaker that holds claims, where any are to wait."""
PER_MINUTE, AT_ONCE = 60_000, 32
LOOK_SECONDS, READY_SECONDS = 0.05, 30.0


@dataclass(frozen=True, slots=True)
class Files:
    """A folder of batches with one guide each, numbered from `first`."""

    folder: Path
    first: int
    count: int

    def read(self, number: int) -> bytes:
        """The file of a number."""
        return (self.folder / _name(number)).read_bytes()

    @property
    def numbers(self) -> range:
        """Their numbers."""
        return range(self.first, self.first + self.count)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Requests that the payer has had, and batches that it has taken."""

    requests: int
    taken: int


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a contender plays; `cores` are the worker's when the programs are tied to cores."""

    folder: Path
    broker: BenchBroker
    payer_url: str
    payer_pid: int
    cores: tuple[int, ...] | None
    _numbers: Iterator[int]
    at_once: int = AT_ONCE

    def files(self, count: int) -> Files:
        """New files, whose numbers nobody has had."""
        first = next(self._numbers)
        for _ in range(count - 1):
            next(self._numbers)
        made = Files(self.folder / f"files-{first}", first, count)
        made.folder.mkdir()
        for number in made.numbers:
            (made.folder / _name(number)).write_bytes(file_bytes(file_text(f"{number:012d}", first=number)))
        return made

    def payers(self, file: Path) -> Path:
        """A PAYERS_FILE with this payer, and the one for whom others wait."""
        file.write_text("".join(map(self._payer, (PAYER, OTHER_PAYER))), encoding="utf-8")
        return file

    async def arrivals(self) -> Arrivals:
        """What has reached the payer; raises where a batch was taken twice."""
        async with httpx.AsyncClient(trust_env=False, timeout=READY_SECONDS) as http:
            rows = (await http.get(f"{self.payer_url.rsplit('/', 1)[0]}/_ledger")).json()
        taken = [row["lote"] for row in rows if row["verdict"] == TAKEN]
        if len(set(taken)) != len(taken):
            raise ProgramError("the payer took a batch twice")
        return Arrivals(len(rows), len(taken))

    @asynccontextmanager
    async def database(self, kind: str, name: str) -> AsyncIterator[str]:
        """An empty database of the kind; its address."""
        folder = self.folder / name
        await asyncio.to_thread(folder.mkdir)
        if kind == "sqlite":
            yield sqlite_url(folder / "bench.db")
            return
        async with postgresql_server(folder) as url:
            if self.cores and (pid := server(url)):
                pin(pid, OTHER_CORES)
            yield url

    def _payer(self, payer: str) -> str:
        return (
            f'[payers.{payer}]\nendpoint = "{self.payer_url.replace(PAYER, payer)}"\nversion = "4.03.00"\n'
            f"requests_per_minute = {PER_MINUTE}\nat_once = {self.at_once}\n"
        )


@asynccontextmanager
async def stage(folder: Path, *, pinned: bool, at_once: int = AT_ONCE) -> AsyncIterator[Stage]:
    """Broker and payer, each a process of its own; the payer has so many places."""
    async with bench_broker(SilentReporter()) as broker, _payer(folder) as (url, pid):
        for other in (broker.engine.pid, pid, os.getpid()) if pinned else ():
            pin(other, OTHER_CORES)
        cores = WORKER_CORES if pinned else None
        yield Stage(folder, broker, url, pid, cores, itertools.count(1), at_once)


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


def _name(number: int) -> str:
    return f"{number:09d}.xml"
