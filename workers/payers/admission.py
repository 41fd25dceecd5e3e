"""Admission to a payer, under the lock of its row: who goes, who waits, and what a result changes."""

from dataclasses import dataclass, replace
from datetime import datetime

from domain.breaker import Breaker, Candidate, Hold, Verdict
from domain.payer_status import PayerLimits, PayerStatus
from domain.slots import Wait, plan
from domain.submission import Settled, Submission
from persistence.store import Transaction


@dataclass(frozen=True, slots=True)
class Admission:
    """The verdict on a claim; `is_first` tells a wait that begins from one that goes on."""

    verdict: Verdict
    is_first: bool


@dataclass(frozen=True, slots=True)
class PayerChange:
    """A payer's status before and after something happened; `stays_free` says that it was and is free."""

    before: PayerStatus
    after: PayerStatus
    stays_free: bool

    @property
    def is_news(self) -> bool:
        """Whether people want to know."""
        return self.before.state is not self.after.state


@dataclass(frozen=True, slots=True)
class LockedPayer:
    """A payer whose row is ours alone until the transaction ends."""

    tx: Transaction
    breaker: Breaker

    async def in_flight(self) -> int:
        """How many sends and questions are under way."""
        return await self.tx.payers.in_flight(self.breaker.status.payer_id, now=self.breaker.now)

    async def admit(self, candidate: Candidate) -> Admission:
        """Let the claim go or wait, and write it down; limits hold for all processes together."""
        breaker, payers = await self._replanned(self.breaker.aged().status), self.tx.payers
        wait = await payers.wait_of(candidate.claim_id)
        status, verdict = breaker.admit(_with_slot(candidate, wait), await self.in_flight())
        await payers.save(status)
        if isinstance(verdict, Hold):
            await payers.hold(_wait(candidate, verdict, breaker.now))
        elif wait:
            await payers.release(candidate.claim_id)
        return Admission(verdict, is_first=wait is None)

    async def after_send(self, sent: Submission, result: Settled) -> PayerChange:
        """What a send's result changes for the payer; the send is under way no more."""
        change = await self.change(self.breaker.after_send(result, again=sent.after_lost_answer))
        await self.tx.payers.send_ended(sent.claim_id, sent.attempt)
        return change

    async def change(self, after: PayerStatus) -> PayerChange:
        """Keep a new status; whoever waits gets a slot when the payer has become free by it."""
        breaker = await self._replanned(after)
        await self.tx.payers.save(breaker.status)
        stays_free = self.breaker.is_free and breaker.is_free
        return PayerChange(self.breaker.status, breaker.status, stays_free)

    async def _replanned(self, after: PayerStatus) -> Breaker:
        breaker = replace(self.breaker, status=after)
        if self.breaker.is_free or not breaker.is_free:
            return breaker
        waits = await self.tx.payers.waiting(after.payer_id)
        after, slots = plan(after, waits, breaker.limits, breaker.now)
        await self.tx.payers.give_slots(slots)
        return replace(breaker, status=after)


async def locked(tx: Transaction, payer_id: str, limits: PayerLimits, now: datetime) -> LockedPayer:
    """Lock the payer's row."""
    return LockedPayer(tx, Breaker(await tx.payers.lock(payer_id, now=now), limits, now))


def _with_slot(candidate: Candidate, wait: Wait | None) -> Candidate:
    """A slot at another payer is none."""
    if wait is None or wait.payer_id != candidate.payer_id:
        return candidate
    return replace(candidate, slot_at=wait.slot_at)


def _wait(candidate: Candidate, hold: Hold, now: datetime) -> Wait:
    return Wait(
        claim_id=candidate.claim_id,
        payer_id=candidate.payer_id,
        since=now,
        until=min(hold.resume_at, hold.slot_at),  # a timer ends at a whole second
        slot_at=hold.slot_at,
        deadline=candidate.deadline,
    )
