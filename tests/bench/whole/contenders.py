"""Reenvio and the plain program on the same stage: what they take from files to protocols."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from urllib.parse import unquote

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from gateways.zeebe.connection import Plaintext, open_channel
from persistence.encryption.keys import new_key
from tests.bench.load import Load
from tests.bench.whole import plain
from tests.bench.whole.program import Program, cpu_seconds, pin
from tests.bench.whole.stage import OTHER_CORES, Stage, database

PATIENCE_SECONDS, SLOWEST_PER_SECOND = 120.0, 2.0
COMMITS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"


@dataclass(frozen=True, slots=True)
class Way:
    """One contender in one round, for `claims` claims; None where nobody can tell."""

    contender: str
    database: str
    claims: int
    files_per_second: float | None
    claims_per_second: float
    worker_ms: float
    broker_ms: float
    database_ms: float | None
    payer_ms: float
    commits: float | None


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done: so many claims, numbered from `first`, on a kind of database."""

    kind: str
    claims: int
    first: int
    embedded: bool = True

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.first}"


async def reenvio(stage: Stage, work: Work) -> Way:
    """Hand in a folder, then let one worker send it all."""
    folder = stage.files(f"files-{work.name}", work.claims, work.first)
    async with database(work.kind, stage.folder / f"db-{work.name}") as url:
        home = stage.folder / f"home-{work.name}"
        home.mkdir()
        environment = _environment(stage, work, url, home)
        await Program("workers.cli", ["deploy"], environment, home / "deploy.log").run()
        submit = Program("workers.cli", ["claim", "submit", str(folder)], environment, home / "submit.log")
        seconds = await submit.run()
        worker = Program("workers.cli", ["work"], environment, home / "work.log", stage.cores)
        return await _measured(stage, work, worker, url, work.claims / seconds)


async def plain_program(stage: Stage, work: Work) -> Way:
    """The same without any guarantee."""
    folder = stage.files(f"files-plain-{work.name}", work.claims, work.first)
    async with (
        database(work.kind, stage.folder / f"db-plain-{work.name}") as url,
        open_channel(Plaintext(stage.broker.engine.grpc_address)) as channel,
    ):
        load = Load(channel, first=work.first)
        await load.deploy(plain.JOB_TYPE)
        await load.backlog(plain.JOB_TYPE, work.claims)
        arguments = (stage.broker.engine.grpc_address, url, stage.payer_url, str(folder))
        log = stage.folder / f"plain-{work.name}.log"
        worker = Program("tests.bench.whole.plain", arguments, {}, log, stage.cores)
        return await _measured(stage, work, worker, url, None)


def _environment(stage: Stage, work: Work, url: str, home: Path) -> dict[str, str]:
    address = stage.broker.engine.grpc_address
    where = {"ENGINE_HOME": str(stage.broker.home)} if work.embedded else {"ZEEBE_ADDRESS": address}
    return where | {
        "REENVIO_HOME": str(home),
        "DATABASE_URL": url,
        "ENCRYPTION_KEYS": new_key("bench"),
        "PAYERS_FILE": str(stage.payers()),
        "LOG_LEVEL": "warning",
    }


async def _measured(stage: Stage, work: Work, worker: Program, url: str, files: float | None) -> Way:
    """From the worker's first completed job to the last protocol."""
    job_type = plain.JOB_TYPE if files is None else "submit-claim"
    done = await stage.broker.completed(job_type)
    async with worker.running() as pid, _commits(url) as commits:
        costs = _Costs(pid, stage.broker.engine.pid, stage.payer_pid, _server(url))
        if stage.cores and costs.database:
            pin(costs.database, OTHER_CORES)
        await stage.broker.wait_completed(job_type, done + 1, PATIENCE_SECONDS)
        began, before = perf_counter(), costs.so_far()
        claims = work.claims - (await stage.broker.completed(job_type) - done)
        patience = PATIENCE_SECONDS + work.claims / SLOWEST_PER_SECOND
        ended = await stage.broker.wait_completed(job_type, done + work.claims, patience)
        worker_ms, broker_ms, payer_ms, database_ms = (
            (after - earlier) / claims * 1e3 for after, earlier in zip(costs.so_far(), before, strict=True)
        )
        made = await commits()
    return Way(
        contender="plain" if files is None else "reenvio",
        database=work.kind,
        claims=claims,
        files_per_second=files,
        claims_per_second=claims / (ended - began),
        worker_ms=worker_ms,
        broker_ms=broker_ms,
        payer_ms=payer_ms,
        database_ms=database_ms if costs.database else None,
        commits=None if made is None else made / work.claims,
    )


@dataclass(frozen=True, slots=True)
class _Costs:
    """The processes whose time is counted; SQLite has none of its own."""

    worker: int
    broker: int
    payer: int
    database: int | None

    def so_far(self) -> tuple[float, float, float, float]:
        """Processor seconds of each."""
        database = cpu_seconds(self.database) if self.database else 0.0
        return cpu_seconds(self.worker), cpu_seconds(self.broker), cpu_seconds(self.payer), database


def _server(url: str) -> int | None:
    """The process of the PostgreSQL server behind an address with its folder in it."""
    if url.startswith("sqlite"):
        return None
    pids = Path(unquote(url.partition("host=")[2])) / "postmaster.pid"
    return int(pids.read_text(encoding="ascii").split()[0])


@asynccontextmanager
async def _commits(url: str) -> AsyncIterator[Callable[[], Awaitable[int | None]]]:
    """How many transactions were committed since; only a server counts them."""
    if url.startswith("sqlite"):
        yield _nobody_counts
        return
    engine = create_async_engine(url)

    async def counted() -> int:
        async with engine.connect() as connection:
            return int((await connection.execute(text(COMMITS))).scalar_one())

    before = await counted()

    async def since() -> int:
        return await counted() - before

    yield since
    await engine.dispose()


async def _nobody_counts() -> None:
    return None
