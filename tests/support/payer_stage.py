"""A payer whose answers tests choose, in front of submit-claim and the other handlers."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from domain.payer_status import PRACTICE, PayerLimits, PayerState, PayerStatus
from domain.submission import Accepted, Failed, SendResult, Submission
from gateways.tiss.probe import is_up
from gateways.tiss.settings import PayerSettings
from persistence.encryption.keys import cipher_of, new_key
from persistence.store import Store
from tests.support.builders import NOW
from tests.support.services import services
from workers.jobs import all_handlers
from workers.payers.limits import LimitsByPayer
from workers.payers.orders import Orders
from workers.payers.places import Places, PlaceTerms
from workers.payers.waking import Waker
from workers.runtime import Job, JobHandler, Outcome
from workers.upkeep.probing import Probe, Probing

PAYER = "999999"
DOWN = Failed("SERVICE_UNAVAILABLE - 503", "HTTP:503", payer_down=True)
QUICK = PayerLimits(per_minute=None, threshold=2, needs_proof=False)


@dataclass
class Scene:
    """A payer whose answers tests choose, a clock they move, and who was woken."""

    store: Store
    limits: PayerLimits = QUICK
    moment: datetime = NOW
    answer: SendResult = field(default_factory=lambda: Accepted("P-1"))
    sent: list[str] = field(default_factory=list)
    woken: list[str] = field(default_factory=list)
    settings: Mapping[str, PayerSettings] = field(default_factory=dict)
    trouble: Exception | None = None
    pauses: list[float] = field(default_factory=list)

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def place_pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def now(self) -> datetime:
        return self.moment

    async def send(self, submission: Submission, _now: datetime) -> SendResult:
        self.sent.append(submission.claim_id)
        return self.answer

    async def wake_up(self, claim_id: str) -> None:
        if self.trouble:
            raise self.trouble
        self.woken.append(claim_id)

    @property
    def payer_limits(self) -> LimitsByPayer:
        return LimitsByPayer({PAYER: self.limits}, PRACTICE, self.settings)

    @property
    def waker(self) -> Waker:
        return Waker(self.store, self.payer_limits, self.wake_up)

    @property
    def orders(self) -> Orders:
        return Orders(self.store, self.payer_limits, self.waker)

    def probing(self, probe: Probe = is_up) -> Probing:
        return Probing(self.store, self.payer_limits, self.waker, probe)

    def handler(self, job_type: str) -> JobHandler:
        cipher, limits = cipher_of(new_key("k1")), self.payer_limits
        given = services(
            self.store,
            payer=self,
            clock=self,
            cipher=cipher,
            waker=self.waker,
            payer_limits=limits,
            pause=self.pause,
            places=Places(PlaceTerms(patience=3600), pause=self.place_pause),
        )
        handlers = all_handlers(given)
        [found] = [handler for handler in handlers if handler.type == job_type]
        return found

    async def submit(self, number: int, *, key: int | None = None, **variables: object) -> Outcome:
        """Deliver the claim's job."""
        given = {"claimId": f"CLM-D-{number}", "payerId": PAYER} | variables
        job = Job(key or number, "submit-claim", "Task_SubmitClaim", number, 3, {}, given)
        return await self.handler("submit-claim").handle(job)

    async def status(self) -> PayerStatus:
        async with self.store.reading() as tx:
            status = await tx.payers.find(PAYER)
        assert status
        return status

    async def fail_twice(self) -> None:
        """An outage that opens the breaker."""
        self.answer = DOWN
        for number in (101, 102):
            await self.submit(number)
        assert (await self.status()).state is PayerState.OPEN
