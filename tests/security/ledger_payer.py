"""A payer with a ledger behind the real gateway and its fence, and workers that fall asleep on the way to it.

It looks for a known batch when a request arrives and keeps a new one when it works on it: of two requests at
once it takes both. Asked to cancel, it gives up what it holds. What it holds is in its ledger.
"""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal, cast

from domain.submission import Accepted, AnswerLost, Duplicate, Failed, SendResult, Submission
from gateways.tiss.client import Call, TissClient
from gateways.tiss.judgement import NOT_OURS
from gateways.tiss.lote import Lote
from gateways.tiss.messages import Batch
from gateways.tiss.outcomes import Cancellation, CancelOutcome, CancelStatus
from gateways.tiss.parties import Provider
from persistence.store import Store
from tests.security.two_processes import CLAIM, PAYER, Desk, Payer
from tests.support.tiss_samples import PROVIDER, lote, payer
from workers.payers.channels import PayerChannel, gateway_to

Place = Literal["before the fence", "behind the fence"]
BATCH = lote()
TAKES = timedelta(minutes=4)
FAILURES = {
    "fail": Failed("TIMEOUT - connection", "HTTP:408"),
    "refuse": Failed("INVALID_PROCEDURE_CODE", "TISS:1801", refused=True),
}


@dataclass
class ArrivedRequest:
    """A request at the payer: whether it came before the batch was known, and the answer, if there is one."""

    number: int
    is_new: bool
    answer: SendResult | None = None


@dataclass
class LedgerPayer(Payer):
    """Keeps what it took; `asleep` are workers that stand still, `falls_asleep` is where the next will."""

    ledger: list[str] = field(default_factory=list)
    open: list[ArrivedRequest] = field(default_factory=list)
    asleep: list[asyncio.Event] = field(default_factory=list)
    falls_asleep: Place | None = None
    cancels: bool = False

    def behind_a_fence(self, store: Store, desk: Desk) -> None:
        """Be reached as payers are."""
        client = cast("TissClient", LedgerClient(self))
        self._gateway = gateway_to({PAYER: PayerChannel(payer(), client)}, store, desk)

    async def send(self, submission: Submission, now: datetime) -> SendResult:
        return await self._gateway.send(replace(submission, content=b"<a/>"), now)

    async def take(self, now: datetime) -> SendResult:
        """A request has arrived; its answer is the test's to give."""
        self.open.append(ArrivedRequest(len(self.requests) + 1, is_new=not self.ledger))
        return await super().send(Submission(CLAIM, PAYER, len(self.open)), now)

    def give_up(self) -> CancelStatus:
        """Cancel what is in the ledger."""
        held = bool(self.ledger)
        self.ledger.clear()
        return CancelStatus.CANCELLED if held else CancelStatus.NO_SUCH_PROTOCOL

    def work_on(self, request: ArrivedRequest, fate: str) -> None:
        if not request.is_new:
            request.answer = Duplicate("TISS:3268")
        elif fate in FAILURES:
            request.answer = FAILURES[fate]
        else:
            self.ledger.append(f"P-{request.number}")
            lost = AnswerLost("TIMEOUT - no answer", "NET:READ_TIMEOUT")
            request.answer = Accepted(self.ledger[-1]) if fate == "accept" else lost

    async def stand_still(self, place: Place) -> None:
        """The worker's machine is suspended here, if it is its turn."""
        if self.falls_asleep != place:
            return
        self.falls_asleep = None
        self.asleep.append(asyncio.Event())
        self.arrived.set()
        await self.asleep[-1].wait()


@dataclass
class LedgerClient:
    """The gateway's client of such a payer; a machine may be suspended on both sides of the fence."""

    payer: LedgerPayer

    @property
    def cancels_when_ambiguous(self) -> bool:
        return self.payer.cancels

    def provider_of(self, _lote: Lote) -> Provider:
        return PROVIDER

    async def read(self, _content: bytes) -> Lote:
        return BATCH

    async def submit(self, _lote: Lote, call: Call) -> SendResult:
        await self.payer.stand_still("before the fence")
        return await self.payer.take(call.now) if await call.may_leave(TAKES) else NOT_OURS

    async def cancel(self, _provider: Provider, batch: Batch, call: Call) -> CancelOutcome:
        await self.payer.stand_still("before the fence")
        if not await call.may_leave(TAKES):
            return NOT_OURS
        await self.payer.stand_still("behind the fence")
        return Cancellation(self.payer.give_up(), batch.number)
