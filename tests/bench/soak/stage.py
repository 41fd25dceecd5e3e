"""A worker in a process of its own on a gateway that fails: jobs flow, faults strike, somebody counts."""

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import psutil

from bpmn.names import JobType
from persistence.encryption.keys import new_key
from tests.bench.soak.worker import EMPTY
from tests.support.faults import (
    EVERYTHING,
    INTAKE,
    REPORTS,
    BreakStream,
    Cable,
    Delay,
    DeliverTwice,
    ExpireEarly,
    FaultyGateway,
    Hang,
    LoseAnswer,
    Method,
    Refuse,
    Rule,
    SlowStream,
    cable_to,
    faulty_gateway,
)

OPEN_JOBS, BATCH, FEED_SECONDS = 400, 50, 0.02
EVERY_THIRD = 3
RETRIES = 1_000
STOP_SECONDS = 60.0
ERRORS = (
    "TIMEOUT - Connection timeout after 30s",
    "INVALID_PATIENT_DATA - CPF inválido",
    "something nobody has seen before",
    "payer answered HTTP 503 Service Unavailable",
    "HTTP 500: nomeBeneficiario=Maria da Silva; CPF 529.982.247-25 refused, lote 123456",
)
_PASSING = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.DEADLINE_EXCEEDED,
)
# with the product's pauses these would end the intake for half a minute or an hour
_FINAL = (grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNIMPLEMENTED)
RULES = (
    *(Rule(Refuse(status), EVERYTHING, 0.005) for status in _PASSING),
    *(Rule(Refuse(status), REPORTS, 0.005) for status in _FINAL),
    Rule(Delay(0.02), EVERYTHING, 0.05),
    Rule(LoseAnswer(), REPORTS, 0.05),
    Rule(LoseAnswer(), INTAKE, 0.02),
    Rule(Hang(), EVERYTHING, 0.001),
    Rule(DeliverTwice(), INTAKE, 0.05),
    Rule(ExpireEarly(0.1), INTAKE, 0.05),
    Rule(SlowStream(0.01), frozenset({Method.STREAM}), 0.05),
    Rule(BreakStream(), frozenset({Method.STREAM}), 0.005),
)


@dataclass(frozen=True, slots=True)
class SoakedWorker:
    """The process, and what it says of its memory."""

    process: asyncio.subprocess.Process

    @property
    def resident(self) -> int:
        """Bytes that it has in memory."""
        return int(psutil.Process(self.process.pid).memory_info().rss)

    async def look(self) -> dict[str, Any]:
        """Ask it; it collects its garbage first."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(b"look\n")
        found: dict[str, Any] = json.loads(await self.process.stdout.readline())
        return found

    async def stop(self) -> None:
        """End its input; kill it when it does not end."""
        assert self.process.stdin
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), STOP_SECONDS)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


@dataclass(frozen=True, slots=True)
class SoakStage:
    """Everything that takes part."""

    gateway: FaultyGateway
    cable: Cable
    worker: SoakedWorker

    def create(self, first: int, number: int) -> None:
        """New jobs; every third is a decision about a claim of its own."""
        for n in range(first, first + number):
            if n % EVERY_THIRD:
                self.gateway.store.create(EMPTY, {}, retries=RETRIES)
            else:
                self.gateway.store.create(JobType.ANALYZE_RETRY, _claim(n), retries=RETRIES)

    async def feed(self, ends_at: float, rate: float) -> None:
        """Keep some hundred jobs open, or so many a second coming; forget those that have ended."""
        ledger, began = self.gateway.ledger, time.monotonic()
        while (now := time.monotonic()) < ends_at:
            due = ledger.created < (now - began) * rate
            if due and ledger.created - ledger.ended < OPEN_JOBS:
                self.create(ledger.created, BATCH)
            if len(ledger.stories) > 10 * OPEN_JOBS:
                self.gateway.store.forget_ended()
            await asyncio.sleep(FEED_SECONDS)

    async def disturb(self, ends_at: float, rng: random.Random) -> None:
        """Every few seconds other faults, and a blow to the connection or the gateway."""
        while time.monotonic() < ends_at:
            self.gateway.faults.switch(*rng.sample(RULES, rng.randint(0, len(RULES))))
            blow = rng.choice([self.gateway.restart, self._cut, self._break_streams, self._go_dead])
            await blow()
            await asyncio.sleep(rng.uniform(1, 8))
        self.gateway.faults.switch()

    async def _cut(self) -> None:
        self.gateway.faults.note("connections reset")
        self.cable.cut()

    async def _break_streams(self) -> None:
        self.gateway.break_streams(grpc.StatusCode.INTERNAL)

    async def _go_dead(self) -> None:
        self.gateway.faults.note("half-open")
        self.cable.go_dead()
        await asyncio.sleep(2)
        self.cable.mend()


def _claim(number: int) -> dict[str, object]:
    return {
        "claimId": f"CLM-001-{number:010d}",
        "submissionError": ERRORS[number % len(ERRORS)],
        "retryCount": number % 6,
    }


@asynccontextmanager
async def soak_stage(folder: Path, database_url: str, *, seed: int, trace: bool) -> AsyncIterator[SoakStage]:
    """A gateway, a cable to it, and a worker at its end; the worker's log is in the folder."""
    async with faulty_gateway(seed) as gateway, cable_to(gateway.port) as cable:
        worker = await _start(folder, database_url, (cable.address, *(["--trace"] if trace else [])))
        try:
            yield SoakStage(gateway, cable, worker)
        finally:
            await worker.stop()


async def _start(folder: Path, database_url: str, arguments: tuple[str, ...]) -> SoakedWorker:
    environment = {
        "REENVIO_HOME": str(folder / "home"),
        "DATABASE_URL": database_url,
        "ENCRYPTION_KEYS": new_key("soak"),
    }
    with (folder / "worker.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.bench.soak.worker", *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=os.environ | environment,
        )
    return SoakedWorker(process)
