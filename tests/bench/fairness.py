"""Fairness between tenants, as queued mail over a real SMTP server: `python -m tests.bench.fairness`.

One company has thousands of mails waiting in the engine when twenty others queue ten each; then a worker
begins. It serves them by turns, with and without limits that processes share, and in the order of arrival.
All five ways take minutes: `--ways` chooses some, and each says how it goes.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter, process_time
from uuid import uuid4

import psutil
from pydantic import SecretStr
from rich.console import Console

from bpmn.names import JobType
from domain.mail.fairness import FairnessTerms
from domain.mail.mail import Mail, MailContent, outbox_id
from gateways.practice.mail_server import Mailbox, mail_server
from gateways.zeebe.engine import EngineError, RunningEngine, SilentReporter
from tests.bench.databases import postgresql_database, sqlite_database
from tests.bench.fair_figures import BATCH, Backlog, Figures, Run, figures, limits_cost, missed, table
from tests.support.broker import StalledError, bench_broker
from tests.support.databases import KEYS
from workers.app.cluster import embedded
from workers.app.composition import App, running
from workers.app.logs import configure_logs
from workers.config.fairness import FairnessSettings
from workers.config.mail import MailSettings
from workers.config.settings import Settings
from workers.jobs import all_handlers
from workers.mail.lane_order import FairOrder
from workers.mail.queueing import LEFT_BEHIND, MailRequest
from workers.mail.sending import everybody_goes
from workers.runtime.lanes import Lane, LaneTurn
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker

AT_ONCE, LANES = 5, 64
PATIENCE_SECONDS = 600.0
TELL_SECONDS = 10.0
WARM_UP = 100
STARTERS, STARTED_AT_ONCE = 8, 50
WIDE = 1_000_000
"""A pace that holds nobody: what asking costs."""
PEOPLE = ("people@hospital.example",)


@dataclass(frozen=True, slots=True)
class Way:
    """How mail is served: by turns or in the order of arrival, with or without limits, kept where."""

    how: str
    by_turns: bool = True
    limited: bool = True
    lanes: int = LANES


WAYS = {
    "first-come": Way("in the order of arrival, SQLite", by_turns=False, limited=False, lanes=1),
    "sqlite": Way("by turns, no limits, SQLite", limited=False),
    "sqlite-limits": Way("by turns, limits, SQLite"),
    "postgresql": Way("by turns, no limits, PostgreSQL", limited=False),
    "postgresql-limits": Way("by turns, limits, PostgreSQL"),
}
WARM = WAYS["sqlite-limits"]


def nobody_listens(_line: str) -> None:
    """For the warm-up."""


class TimedOrder(FairOrder):
    """Knows how long it took to say whose turn it is, and whose mail was begun in which order."""

    def __init__(self, terms: FairnessTerms, app: App) -> None:
        super().__init__(terms, app.clock)
        self.spent = 0.0
        self.begun: list[str] = []

    def next_turn(self, waiting: Sequence[Lane]) -> LaneTurn:
        """As it is, with the time that it takes."""
        begun = perf_counter()
        turn = super().next_turn(waiting)
        self.spent += perf_counter() - begun
        return turn

    async def served(self, lane: Lane, tenants: Sequence[str]) -> None:
        """As it is, with the time that it takes."""
        begun = perf_counter()
        await super().served(lane, tenants)
        self.spent += perf_counter() - begun
        self.begun += tenants


@dataclass(frozen=True, slots=True)
class FairBench:
    """A broker, the backlog that each run begins with, and who hears how it goes."""

    broker: RunningEngine
    backlog: Backlog
    folder: Path = field(default_factory=Path)
    patience: float = PATIENCE_SECONDS
    tell: Callable[[str], None] = nobody_listens

    async def served(self, way: Way, database: str) -> Figures:
        """The backlog queued, then served to its end."""
        async with mail_server(Mailbox()) as mailbox:
            settings = self._settings(way, database, mailbox.port)
            async with running(settings, embedded(self.broker)) as app:
                await app.deploy()
                async with asyncio.timeout(self.patience):
                    await self._queue(app)
                return figures(way.how, await self._drain(app, way, mailbox), self.backlog)

    def _settings(self, way: Way, database: str, port: int) -> Settings:
        mail = MailSettings(
            smtp_host="127.0.0.1", smtp_port=port, smtp_security="none", sender="reenvio@hospital.example",
            to_registration=PEOPLE, to_billing_management=PEOPLE, to_operations=PEOPLE,
            to_administrator=PEOPLE, lanes=way.lanes,
        )  # fmt: skip
        fairness = FairnessSettings(
            enabled=way.by_turns, at_once=AT_ONCE, company_at_once=AT_ONCE,
            per_minute=WIDE, company_per_minute=WIDE,
        )  # fmt: skip
        return Settings(
            home=self.folder,
            database_url=database,
            encryption_keys=SecretStr(KEYS),
            mail=mail,
            fairness=fairness,
        )

    async def _queue(self, app: App) -> None:
        """Every mail committed, then a process for each, the big company's first."""
        now, queue = await app.clock.now(), app.mail.queue
        async with app.store.transaction() as tx:
            mails = [await queue.add(tx, request, now) for request in self._requests()]
        for backlog in (mails[: self.backlog.big], mails[self.backlog.big :]):
            await self._start(app, backlog)
            self.tell(f"{len(backlog)} mails are queued in the engine")
        while await queue.start_left_behind(now + 2 * LEFT_BEHIND):
            pass  # those that the broker refused

    async def _start(self, app: App, mails: Sequence[Mail]) -> None:
        now, queue, pages = await app.clock.now(), app.mail.queue, _pages(mails)

        async def start() -> None:
            for page in pages:
                while not await queue.start(page, now):
                    await asyncio.sleep(0.1)  # a broker that is asked for too much refuses some

        await asyncio.gather(*(start() for _ in range(STARTERS)))

    def _requests(self) -> Iterator[MailRequest]:
        run = uuid4().hex
        for number, company in enumerate(self.backlog.in_order()):
            content = MailContent(f"{company}@mailbox.example", "permanent-error", "pt", {})
            yield MailRequest(outbox_id(run, number), content, company)

    async def _drain(self, app: App, way: Way, mailbox: Mailbox) -> Run:
        """Serve until all has arrived."""
        order = TimedOrder(FairnessTerms(enabled=way.by_turns, batch=BATCH), app)
        worker = _worker(app, way, order)
        stop, begun, cpu = asyncio.Event(), perf_counter(), process_time()
        task = asyncio.create_task(worker.run(stop))
        await self._all_arrived(mailbox, begun)
        used = process_time() - cpu
        stop.set()
        await task
        left = [(one.to[0].partition("@")[0], one.at) for one in mailbox.arrived]
        return Run(order.begun, left, begun, used, order.spent)

    async def _all_arrived(self, mailbox: Mailbox, begun: float) -> None:
        """Wait for them, and say how it goes; no longer than may be."""
        total, told = self.backlog.mails.total(), begun
        while len(mailbox.arrived) < total:
            now, line = perf_counter(), f"{len(mailbox.arrived)} of {total} mails have arrived"
            if now - begun > self.patience:
                raise StalledError(line)
            if now - told > TELL_SECONDS:
                self.tell(line)
                told = now
            await asyncio.sleep(0.1)


def _worker(app: App, way: Way, order: TimedOrder) -> Worker:
    """One that only sends mail."""
    sender = app.mail.sender if way.limited else replace(app.mail.sender, admit=everybody_goes)
    here = replace(app, mail=replace(app.mail, sender=sender))
    [handler] = [one for one in all_handlers(here.services()) if one.type == JobType.SEND_EMAIL]
    terms = replace(app.mail.lanes.terms(), order=order)
    return Worker(app.channel, [handler], WorkerOptions("bench", random.Random()), {handler.type: terms})


def _pages(mails: Sequence[Mail]) -> Iterator[Sequence[Mail]]:
    """Whoever asks gets the next ones."""
    return (mails[at : at + STARTED_AT_ONCE] for at in range(0, len(mails), STARTED_AT_ONCE))


async def runs(bench: FairBench, ways: Sequence[str], number: int, console: Console) -> list[Figures]:
    """Every way once, those that are compared with each other side by side."""
    found: list[Figures] = []
    for name in ways if number % 2 == 0 else reversed(ways):
        way, made = WAYS[name], postgresql_database if name.startswith("postgresql") else sqlite_database
        with tempfile.TemporaryDirectory(prefix="reenvio-bench-") as place:
            async with made(Path(place)) as url:
                found.append(await replace(bench, folder=Path(place)).served(way, url))
        told = f"round {number + 1}  {way.how:34}{found[-1].seconds:7.1f} s"
        console.print(f"{told}   load {psutil.getloadavg()[0]:.1f}")
    return found


async def main(options: argparse.Namespace, console: Console) -> list[str]:
    """Start a broker and run the ways on it."""
    backlog = Backlog(options.big, options.companies, options.each)
    found: list[Figures] = []
    async with bench_broker(SilentReporter()) as broker:
        bench = FairBench(broker.engine, Backlog(WARM_UP, 2, 5), patience=options.patience)
        with tempfile.TemporaryDirectory(prefix="reenvio-bench-") as place:
            async with sqlite_database(Path(place)) as url:
                await replace(bench, folder=Path(place)).served(WARM, url)
        real = replace(bench, backlog=backlog, tell=lambda line: console.print(f"  {line}"))
        for number in range(options.rounds):
            found += await runs(real, options.ways, number, console)
    console.print(table(backlog, found))
    for line in limits_cost(found):
        console.print(line)
    return missed(found)


def _one_or_more(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError("one or more")
    return number


def read_options() -> argparse.Namespace:
    """The command's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--big", type=_one_or_more, default=5_000, help="mails of the one company")
    parser.add_argument("--companies", type=_one_or_more, default=20, help="so many small ones")
    parser.add_argument("--each", type=_one_or_more, default=10, help="mails of each small one")
    parser.add_argument("--rounds", type=_one_or_more, default=1)
    parser.add_argument("--ways", nargs="+", choices=tuple(WAYS), default=tuple(WAYS), help="these alone")
    waits = f"seconds for queueing and for serving one way, {PATIENCE_SECONDS:.0f} if it is not said"
    parser.add_argument("--patience", type=_one_or_more, default=PATIENCE_SECONDS, help=waits)
    return parser.parse_args()


if __name__ == "__main__":
    paper = Console(highlight=False, width=150)
    configure_logs("warning", "console")
    try:
        failures = asyncio.run(main(read_options(), paper))
    except (EngineError, StalledError) as error:
        sys.exit(str(error))
    except TimeoutError:
        sys.exit("The engine did not take the backlog in time: see --patience.")
    for failure in failures:
        paper.print(f"[red]aim not met[/]: {failure}")
    sys.exit(1 if failures else 0)
