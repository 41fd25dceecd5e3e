"""The plain program as a contender."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import grpc
from sqlalchemy import select
from sqlalchemy.ext.asyncio import create_async_engine

from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from tests.bench.load import Load
from tests.bench.whole import plain
from tests.bench.whole.contenders import Ground
from tests.bench.whole.program import Program
from tests.bench.whole.stage import Files, Stage


@dataclass(frozen=True, slots=True)
class PlainProgram:
    """Stock pyzeebe, httpx and one row per claim; it has no intake, so its files just lie there."""

    name: str = "plain"

    @asynccontextmanager
    async def ground(self, stage: Stage, kind: str, name: str) -> AsyncIterator[Ground]:
        """An empty database: it makes its table itself. Its jobs are of a type that no other ground has."""
        async with stage.database(kind, name) as url:
            yield Ground(stage, kind, url, name, stage.folder / name, {})

    async def hand_in(self, ground: Ground, files: Files) -> float | None:
        """One instance for each file."""
        async with open_channel(Plaintext(ground.stage.broker.engine.grpc_address)) as channel:
            load = Load(channel, first=files.first)
            await load.deploy(ground.job_type)
            await load.backlog(ground.job_type, files.count)
        return None

    def worker(self, ground: Ground, files: Files) -> Program:
        """The program itself."""
        stage = ground.stage
        arguments = (
            stage.broker.engine.grpc_address,
            ground.job_type,
            ground.url,
            stage.payer_url,
            str(files.folder),
        )
        counts, log = ground.folder / f"counts-{files.first}", ground.log("plain", files)
        return Program("tests.bench.whole.plain", arguments, {}, log, cores=stage.cores, counts=counts)

    @asynccontextmanager
    async def desk(self, ground: Ground, files: Files) -> AsyncIterator["PlainDesk"]:
        """The program, and an instance for each file as it comes."""
        async with (
            self.worker(ground, files).running(),
            open_channel(Plaintext(ground.stage.broker.engine.grpc_address)) as channel,
        ):
            await Load(channel).deploy(ground.job_type)
            yield PlainDesk(channel, ground, files)


@dataclass(frozen=True, slots=True)
class PlainDesk:
    """Makes an instance for each file."""

    channel: grpc.aio.Channel
    ground: Ground
    files: Files

    async def hand_in(self, number: int) -> None:
        """Make its instance."""
        await Load(self.channel, first=number).backlog(self.ground.job_type, 1)

    async def ended(self) -> Mapping[int, datetime]:
        """As its rows say."""
        engine = create_async_engine(self.ground.url)
        async with engine.connect() as connection:
            rows = (await connection.execute(select(plain.sent.c.number, plain.sent.c.ended))).all()
        await engine.dispose()
        return {int(row.number): _aware(row.ended) for row in rows if int(row.number) in self.files.numbers}


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
