"""Fairness between tenants on a real broker: `python -m tests.bench.fairness`.

One company has thousands of mails waiting when twenty others queue ten each. The worker serves them by turns
(with and without limits that processes share), and in the order of their arrival.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from uuid import uuid4

import grpc
import psutil
from pyzeebe.proto.gateway_pb2 import CreateProcessInstanceRequest, DeployResourceRequest, Resource
from pyzeebe.proto.gateway_pb2_grpc import GatewayStub
from rich.console import Console

from domain.mail.fairness import FairnessTerms
from domain.mail.lanes import all_lanes
from domain.mail.limits import MailLimits
from gateways.clock import WallClock
from gateways.zeebe.channel import open_channel
from gateways.zeebe.connection import Plaintext
from gateways.zeebe.engine import EngineError, SilentReporter
from persistence.database.engine import open_database
from persistence.store import Store
from tests.bench.databases import postgresql_database, sqlite_database
from tests.bench.fair_figures import BATCH, Backlog, Figures, Run, figures, missed, table
from tests.bench.load import CREATORS, until_taken
from tests.support.broker import StalledError, bench_broker
from tests.support.lanes import KnownLanes
from tests.support.models import one_task
from workers.mail.lane_order import FairOrder
from workers.mail.permits import SharedMailLimits, SharedPermits
from workers.runtime import Complete, Job, JobHandler, Outcome
from workers.runtime.lanes import Lane, LaneTerms, LaneTurn, Permits, Unlimited
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker

LANES = 64
AT_ONCE = 5
PATIENCE_SECONDS = 900.0
WARM_UP = 400
WIDE = SharedMailLimits(MailLimits(10_000_000, AT_ONCE), MailLimits(10_000_000, AT_ONCE))
"""Limits that are asked for each time but hold nobody: what asking costs."""


@dataclass(slots=True)
class Sent:
    """Whose mail was begun, and whose has left, in their order; with the moments."""

    seconds: float
    waiting: Counter[str]
    source: KnownLanes
    lanes: dict[str, Lane]
    begun: list[str] = field(default_factory=list)
    left: list[tuple[str, float]] = field(default_factory=list)

    async def handle(self, job: Job) -> Outcome:
        """A mail server that answers after so many seconds stands behind this."""
        company = job.variables["companyId"]
        self.begun.append(company)
        self.waiting[company] -= 1
        if not self.waiting[company]:
            self.tell()
        await asyncio.sleep(self.seconds)
        self.left.append((company, perf_counter()))
        return Complete()

    def tell(self) -> None:
        """Let the source know who still waits."""
        self.source.tell(*(lane for company, lane in self.lanes.items() if self.waiting[company]))


class TimedOrder(FairOrder):
    """Knows how long it took to say whose turn it is."""

    spent = 0.0

    def next_turn(self, waiting: Sequence[Lane]) -> LaneTurn:
        """As it is, with the time that it takes."""
        begun = perf_counter()
        turn = super().next_turn(waiting)
        self.spent += perf_counter() - begun
        return turn

    async def served(self, lane: Lane, number: int) -> None:
        """As it is, with the time that it takes."""
        begun = perf_counter()
        await super().served(lane, number)
        self.spent += perf_counter() - begun


@dataclass(frozen=True, slots=True)
class FairBench:
    """A broker, and the backlog that each run begins with."""

    channel: grpc.aio.Channel
    backlog: Backlog
    mail_seconds: float

    async def by_turns(self, how: str, permits: Permits, name: str) -> Figures:
        """The lanes in turns."""
        companies = list(self.backlog.mails)
        lanes = {company: Lane(str(n), company) for n, company in enumerate(companies)}
        others = (Lane(name, f"lane {name}") for name in all_lanes(LANES)[len(companies) :])
        sent = Sent(self.mail_seconds, self.backlog.mails, KnownLanes([*lanes.values(), *others]), lanes)
        sent.tell()
        order = TimedOrder(FairnessTerms(batch=BATCH), WallClock())
        await self._queue(name, f'="{name}-" + lane', lanes)
        run = await self._drain(name, sent, {name: LaneTerms(sent.source, order, permits)})
        return figures(how, replace(run, choosing_seconds=order.spent), self.backlog)

    async def first_come(self, how: str, name: str) -> Figures:
        """One job type for all, by streams and polls."""
        lane = Lane("0", "all")
        lanes = dict.fromkeys(self.backlog.mails, lane)
        sent = Sent(self.mail_seconds, self.backlog.mails, KnownLanes([lane]), lanes)
        await self._queue(name, name, lanes)
        return figures(how, await self._drain(name, sent, {}), self.backlog)

    async def _queue(self, process: str, job_type: str, lanes: dict[str, Lane]) -> None:
        """One process instance for each mail, the big company's first."""
        stub: Any = GatewayStub(self.channel)  # the stubs are typed for the blocking channel only
        with tempfile.TemporaryDirectory() as folder:
            model = one_task(Path(folder), process, job_type, {}).read_bytes()
        resource = Resource(name=f"{process}.bpmn", content=model)
        await stub.DeployResource(DeployResourceRequest(resources=[resource]))
        companies = self.backlog.in_order()

        async def create() -> None:
            for company in companies:
                variables = json.dumps({"companyId": company, "lane": lanes[company].name})
                request = CreateProcessInstanceRequest(bpmnProcessId=process, version=-1, variables=variables)
                await until_taken(partial(stub.CreateProcessInstance, request))

        await asyncio.gather(*(create() for _ in range(CREATORS)))

    async def _drain(self, name: str, sent: Sent, lanes: dict[str, LaneTerms]) -> Run:
        """Serve until all has left."""
        handler = JobHandler(name, ("companyId",), sent.handle, lock=timedelta(minutes=5), at_once=AT_ONCE)
        worker = Worker(self.channel, [handler], WorkerOptions("bench", random.Random()), lanes)
        stop, begun, cpu = asyncio.Event(), perf_counter(), process_time()
        running = asyncio.create_task(worker.run(stop))
        total = self.backlog.mails.total()
        while len(sent.left) < total:
            if perf_counter() - begun > PATIENCE_SECONDS:
                raise StalledError(f"{len(sent.left)} of {total} mails left")
            await asyncio.sleep(0.1)
        used = process_time() - cpu
        stop.set()
        await running
        return Run(sent.begun, sent.left, begun, used)


@asynccontextmanager
async def kept_in(url: str) -> AsyncIterator[SharedPermits]:
    """Permits that a database keeps."""
    engine = open_database(url)
    yield SharedPermits(Store(engine), WallClock(), WIDE, lambda: str(uuid4()))
    await engine.dispose()


async def runs(bench: FairBench, folder: Path, number: int, console: Console) -> list[Figures]:
    """Every way once."""
    found = [
        await bench.first_come("in the order of arrival", f"plain-{number}"),
        await bench.by_turns("by turns", Unlimited(), f"turns-{number}"),
    ]
    async with sqlite_database(folder) as url, kept_in(url) as permits:
        found.append(await bench.by_turns("by turns, limits in SQLite", permits, f"sqlite-{number}"))
    async with postgresql_database(folder) as url, kept_in(url) as permits:
        found.append(await bench.by_turns("by turns, limits in PostgreSQL", permits, f"postgres-{number}"))
    for one in found:
        console.print(
            f"round {number + 1}  {one.how:32}{one.seconds:7.1f} s   load {psutil.getloadavg()[0]:.1f}"
        )
    return found


async def main(options: argparse.Namespace, console: Console) -> list[str]:
    """Start a broker and run all ways on it."""
    backlog = Backlog(options.big, options.companies, options.each)
    found: list[Figures] = []
    async with (
        bench_broker(SilentReporter()) as broker,
        open_channel(Plaintext(broker.engine.grpc_address)) as channel,
    ):
        warm = FairBench(channel, Backlog(WARM_UP, 1, 1), 0.0)
        await warm.first_come("warm-up", "warm-plain")
        await warm.by_turns("warm-up", Unlimited(), "warm-turns")
        bench = FairBench(channel, backlog, options.mail_ms / 1e3)
        for number in range(options.rounds):
            with tempfile.TemporaryDirectory(prefix="reenvio-bench-") as folder:
                found += await runs(bench, Path(folder), number, console)
    console.print(table(backlog, found))
    return missed(found)


def read_options() -> argparse.Namespace:
    """The command's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--big", type=int, default=5_000)
    parser.add_argument("--companies", type=int, default=20)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--mail-ms", type=float, default=10.0, help="how long a mail server takes to answer")
    parser.add_argument("--rounds", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    paper = Console(highlight=False, width=130)
    try:
        failures = asyncio.run(main(read_options(), paper))
    except EngineError as error:
        sys.exit(str(error))
    for failure in failures:
        paper.print(f"[red]aim not met[/]: {failure}")
    sys.exit(1 if failures else 0)
