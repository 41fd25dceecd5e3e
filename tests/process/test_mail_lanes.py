"""Fairness between companies on a real broker: lanes by a FEEL job type, served by turns."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from uuid import uuid4

from pyzeebe import ZeebeClient

from domain.mail.fairness import FairnessTerms
from domain.mail.lanes import all_lanes
from domain.mail.limits import MailLimits
from domain.mail.mail import Mail, MailState
from gateways.clock import WallClock
from persistence.store import Store, Transaction
from tests.process.stage import Stage
from tests.support.lanes import KnownLanes
from tests.support.mails import a_mail
from tests.support.models import one_task
from workers.config.fairness import FairnessSettings
from workers.mail.fair_lanes import LaneNeeds, fair_lanes
from workers.mail.lane_order import FairOrder
from workers.mail.limits import MailLimiter, SharedMailLimits
from workers.runtime import Complete, Fail, Job, JobHandler, Outcome, Postpone
from workers.runtime.lanes import Lane, LaneLimits, LaneTerms, Unlimited
from workers.runtime.options import WorkerOptions
from workers.runtime.worker import Worker

PATIENCE_SECONDS = 120
AT_ONCE = 10
"""A slow broker refuses the starts of many more."""
LANES = {company: Lane(str(number), company) for number, company in enumerate(("big", "a", "b", "c"))}
EVERY = (*LANES.values(), *(Lane(name, f"lane {name}") for name in all_lanes(8)[len(LANES) :]))


class Sender:
    """Whose mail was begun, in its order, and how much at once; each first attempt may be made to fail."""

    def __init__(self, *, fails_first: bool = False) -> None:
        self.begun: list[str] = []
        self.done: Counter[str] = Counter()
        self.running = self.most = 0
        self._failed: set[int] | None = set() if fails_first else None

    async def send(self, job: Job) -> Outcome:
        company = job.variables["companyId"]
        self.begun.append(company)
        self.running += 1
        self.most = max(self.most, self.running)
        await self._until_sent()
        self.running -= 1
        if self._failed is not None and job.key not in self._failed:
            self._failed.add(job.key)
            return Fail("SMTP 421", timedelta(milliseconds=200))
        self.done[company] += 1
        return Complete()

    async def _until_sent(self) -> None:
        await asyncio.sleep(0)


async def queued(stage: Stage, folder: Path, mails: dict[str, int]) -> str:
    """Mails of companies, each a process whose job is in its company's lane; the job type without it."""
    job_type = f"send-{uuid4().hex[:8]}"
    await stage.app.commands.deploy(one_task(folder, job_type, f'="{job_type}-" + lane', {}))
    client, turn = ZeebeClient(stage.app.channel), asyncio.Semaphore(AT_ONCE)

    async def queue(company: str) -> None:
        async with turn:
            await client.run_process(job_type, {"companyId": company, "lane": LANES[company].name})

    await asyncio.gather(*(queue(company) for company in Counter(mails).elements()))
    return job_type


@asynccontextmanager
async def serving(
    stage: Stage, job_type: str, sender: Sender, limits: LaneLimits
) -> AsyncIterator[KnownLanes]:
    """A worker for all lanes beside the block."""
    source, stop = KnownLanes(EVERY), asyncio.Event()
    source.tell(*LANES.values())
    handler = JobHandler(job_type, ("companyId",), sender.send, at_once=5)
    terms = LaneTerms(source, FairOrder(FairnessTerms(), WallClock()), limits, sweep_seconds=1)
    options = WorkerOptions(f"lanes-{id(sender)}", random.Random(1))
    running = asyncio.create_task(Worker(stage.app.channel, [handler], options, {job_type: terms}).run(stop))
    try:
        yield source
    finally:
        stop.set()
        await running


async def all_done(mails: dict[str, int], *senders: Sender) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while sum((sender.done for sender in senders), Counter()) != Counter(mails):
            await asyncio.sleep(0.05)


def most_in_a_row(begun: Sequence[str], mails: dict[str, int]) -> int:
    """The longest run of one company while another waited."""
    left, most = Counter(mails), 0
    for company, run in groupby(begun):
        length = len(list(run))
        left[company] -= length
        most = max(most, length if left.total() > left[company] else 0)
    return most


async def test_a_company_with_a_backlog_holds_nobody_up(stage: Stage, tmp_path: Path) -> None:
    mails = {"big": 90, "a": 7, "b": 7, "c": 7}
    job_type, sender = await queued(stage, tmp_path, mails), Sender()
    async with serving(stage, job_type, sender, Unlimited()):
        await all_done(mails, sender)
    assert most_in_a_row(sender.begun, mails) == 3
    last_small = max(place for place, company in enumerate(sender.begun) if company != "big")
    assert last_small < 7 * 3 + 3 * 3  # three turns of each, and the big one's between them


async def test_mail_that_waits_for_its_next_attempt_is_served_when_that_is_due(
    stage: Stage, tmp_path: Path
) -> None:
    mails = {"big": 10, "a": 2}
    job_type, sender = await queued(stage, tmp_path, mails), Sender(fails_first=True)
    async with serving(stage, job_type, sender, Unlimited()):
        await all_done(mails, sender)
    assert Counter(sender.begun) == {"big": 20, "a": 4}


async def test_mail_in_a_lane_that_nobody_names_is_found(stage: Stage, tmp_path: Path) -> None:
    mails = {"c": 3}
    job_type, sender = await queued(stage, tmp_path, mails), Sender()
    async with serving(stage, job_type, sender, Unlimited()) as source:
        source.tell()
        await all_done(mails, sender)


async def test_two_workers_together_keep_the_limit_of_what_is_under_way(stage: Stage, tmp_path: Path) -> None:
    mails = {"big": 30, "a": 5}
    job_type = await queued(stage, tmp_path, mails)
    limits = SharedMailLimits(MailLimits(None, 3), MailLimits(None, None))
    first, second = (MailLimiter(stage.app.store, WallClock(), limits) for _ in range(2))
    together = Meeting(3)
    one, other = (Limited(stage.app.store, limiter, together) for limiter in (first, second))
    async with serving(stage, job_type, one, first), serving(stage, job_type, other, second):
        await together.have_met()
        await refused_to(one, other)
        assert together.running == 3
        together.let_go()
        await all_done(mails, together)
    assert together.most == 3


async def refused_to(*workers: "Limited") -> None:
    """Each worker has tried to begin one more, and may not."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not all(one.refused for one in workers):
            await asyncio.sleep(0.05)


class Meeting(Sender):
    """Lets nobody finish before so many are under way at once, and somebody says so."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self._met, self._over = asyncio.Event(), asyncio.Event()

    async def send(self, job: Job) -> Outcome:
        if self.running + 1 >= self._number:
            self._met.set()
        return await super().send(job)

    async def _until_sent(self) -> None:
        await self._over.wait()

    async def have_met(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._met.wait()

    def let_go(self) -> None:
        self._over.set()


class Limited(Sender):
    """Begins a mail where the limits leave room for it, as a mail that the database knows."""

    def __init__(self, store: Store, limiter: MailLimiter, sender: Sender) -> None:
        super().__init__()
        self._store = store
        self._limiter = limiter
        self._sender = sender
        self.refused = 0

    async def send(self, job: Job) -> Outcome:
        begun = a_mail(outbox_id=uuid4().hex, lane="none", company_id=job.variables["companyId"])
        if wait := await self._store.run(partial(self._begin, mail=begun)):
            self.refused += 1
            return Postpone("no room", wait)
        done = await self._sender.send(job)
        await self._store.run(partial(marked_sent, outbox_id=begun.outbox_id))
        return done

    async def _begin(self, tx: Transaction, mail: Mail) -> timedelta | None:
        now = datetime.now(UTC)
        if wait := await self._limiter.admit(tx, mail.company_id, now):
            return wait
        await tx.mails.add(replace(mail, sending_until=now + timedelta(minutes=1)))
        return None


async def test_mail_in_the_database_is_found_and_sent_by_the_lanes_that_the_settings_make(
    stage: Stage, tmp_path: Path
) -> None:
    store, job_type = stage.app.store, f"send-{uuid4().hex[:8]}"
    lanes = fair_lanes(FairnessSettings(), 8, LaneNeeds(store, stage.app.clock))
    await stage.app.commands.deploy(one_task(tmp_path, job_type, f'="{job_type}-" + lane', {}))
    client, companies, sent = ZeebeClient(stage.app.channel), [uuid4().hex for _ in range(3)], list[str]()

    async def queue(number: int) -> None:
        mail = a_mail(number, outbox_id=uuid4().hex, company_id=companies[number % 3])
        lane = await store.run(partial(assigned_and_added, mail=mail))
        await client.run_process(job_type, {"outboxId": mail.outbox_id, "lane": lane})
        lanes.source.queued()

    async def send(job: Job) -> Outcome:
        outbox_id = job.variables["outboxId"]
        await store.run(partial(marked_sent, outbox_id=outbox_id))
        sent.append(outbox_id)
        return Complete()

    handler, stop = JobHandler(job_type, ("outboxId",), send, at_once=5), asyncio.Event()
    options = WorkerOptions("stored-lanes", random.Random(1))
    worker = Worker(stage.app.channel, [handler], options, {job_type: lanes.terms()})
    running = asyncio.create_task(worker.run(stop))
    for number in range(8):
        await queue(number)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(sent) < 8:
            await asyncio.sleep(0.05)
    stop.set()
    await running
    figures = {one.company_id: one.total_processed for one in lanes.order.metrics()}
    assert [figures[company] for company in companies] == [3, 3, 2]


async def assigned_and_added(tx: Transaction, mail: Mail) -> str:
    """Queue a mail in its company's lane."""
    lane = await tx.mail_lanes.assign(mail.company_id, 8, now=mail.enqueued_at)
    await tx.mails.add(replace(mail, lane=lane))
    return lane


async def marked_sent(tx: Transaction, outbox_id: str) -> None:
    """Note that a mail has left."""
    mail = await tx.mails.lock(outbox_id)
    assert mail is not None
    await tx.mails.save(replace(mail, state=MailState.SENT))
