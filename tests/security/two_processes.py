"""One claim and several process instances that want to send it, at a payer that answers when a test says."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

from domain.payer_status import PayerLimits
from domain.submission import SendResult, Submission
from gateways.zeebe.refusals import CommandRefusedError
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.claims import ClaimRow
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.services import services
from workers.jobs import all_handlers
from workers.payers.limits import LimitsByPayer
from workers.runtime import Job, JobHandler, Outcome

CLAIM = "CLM-D-1"
PAYER = "999999"
QUICK = PayerLimits(per_minute=None, threshold=2, needs_proof=False)
FIRST, SECOND = 101, 202
SEND = "submit-claim"
DECIDE = "retry-submission-backoff"
REVIEW = "open-review"
CLOSE = "close-claim"


@dataclass
class Payer:
    """Takes requests and answers each when it is told to; remembers to whom they went."""

    requests: list[tuple[Submission, asyncio.Future[SendResult]]] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        answer: asyncio.Future[SendResult] = asyncio.get_running_loop().create_future()
        self.requests.append((submission, answer))
        self.arrived.set()
        return await answer

    def answer(self, number: int, result: SendResult) -> None:
        self.requests[number - 1][1].set_result(result)


@dataclass
class Desk:
    """The handlers on one database, the clock, and which process instances the engine still runs."""

    store: Store
    payer: Payer = field(default_factory=Payer)
    moment: datetime = NOW
    gone: set[int] = field(default_factory=set)
    engine_is_away: bool = False
    keys: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        limits = LimitsByPayer({}, QUICK)
        given: dict[str, Any] = {"payer": self.payer, "clock": self, "payer_limits": limits}
        given |= {"cipher": cipher_of(new_key("k1")), "process_runs": self.runs}
        handlers = all_handlers(services(self.store, **given))
        self.handlers: dict[str, JobHandler] = {handler.type: handler for handler in handlers}

    async def now(self) -> datetime:
        return self.moment

    async def runs(self, process: int) -> bool:
        if self.engine_is_away:
            raise CommandRefusedError("The engine does not say: UNAVAILABLE")
        return process not in self.gone

    def job(self, job_type: str, process: int, *, outcome: str | None = None, **variables: object) -> Job:
        given = {"claimId": CLAIM, "payerId": PAYER} | variables
        headers = {"outcome": outcome} if outcome else {}
        return Job(next(self.keys), job_type, f"Task_{job_type}", process, 3, headers, given)

    async def do(self, job: Job) -> Outcome:
        """What the job is answered when nothing is sent."""
        task = await self.until_sent(job)
        if not task.done():
            task.cancel()
            raise AssertionError(f"{job} was sent")
        return task.result()

    async def begin(self, job: Job) -> asyncio.Task[Outcome]:
        """Let a send leave; its answer is the test's to give."""
        task = await self.until_sent(job)
        assert not task.done(), task.result()
        return task

    async def until_sent(self, job: Job) -> asyncio.Task[Outcome]:
        """The job's work, done or under way at the payer."""
        self.payer.arrived.clear()
        task = asyncio.ensure_future(self.handlers[job.type].handle(job))
        await self.until_arrived(task)
        return task

    async def until_arrived(self, task: asyncio.Task[Outcome]) -> None:
        """Until a job's work is done, or under way at the payer."""
        arrival = asyncio.ensure_future(self.payer.arrived.wait())
        await asyncio.wait({task, arrival}, return_when=asyncio.FIRST_COMPLETED)
        arrival.cancel()

    async def send(self, job: Job, result: SendResult) -> Outcome:
        """A send that leaves and is answered."""
        task = await self.begin(job)
        self.payer.answer(self.sends, result)
        return await task

    @property
    def sends(self) -> int:
        return len(self.payer.requests)

    async def row(self) -> ClaimRow:
        found = await self.store.look(lambda tx: tx.claims.find(CLAIM))
        assert found
        return found

    async def story(self) -> list[str]:
        async with self.store.reading() as tx:
            return [entry.event for entry in await tx.journal.of_claim(CLAIM)]
