"""The door to a payer, under the lock of its row: who goes, who waits, and what an answer changes."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from domain import breaker
from domain.breaker import Hold, Ticket, Verdict, aged, is_free, signal_of
from domain.payer_status import PayerLimits, PayerStatus
from domain.redaction import redact
from domain.slots import Wait, plan
from domain.submission import AnswerLost, Failed, Settled, Submission
from persistence.store import Transaction


@dataclass(frozen=True, slots=True)
class Candidate:
    """A claim that wants to go to its payer."""

    claim_id: str
    payer_id: str
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """What the door said; `is_first` tells a wait that begins from one that goes on."""

    verdict: Verdict
    is_first: bool


@dataclass(frozen=True, slots=True)
class PayerChange:
    """A payer's status before and after something happened."""

    before: PayerStatus
    after: PayerStatus

    @property
    def is_news(self) -> bool:
        """Whether people want to know."""
        return self.before.state is not self.after.state


async def admit(tx: Transaction, claim: Candidate, limits: PayerLimits, now: datetime) -> Admission:
    """Let the claim go or wait, and write it down; limits hold for all processes together."""
    before = await tx.payers.lock(claim.payer_id, now=now)
    status = await replanned(tx, before, aged(before, now), limits, now)
    wait = await tx.payers.wait_of(claim.claim_id)
    in_flight = await tx.payers.in_flight(claim.payer_id, now=now)
    slot = wait.slot_at if wait and wait.payer_id == claim.payer_id else None
    status, verdict = breaker.admit(status, Ticket(slot, claim.deadline), in_flight, limits, now)
    await tx.payers.save(status)
    if isinstance(verdict, Hold):
        await tx.payers.hold(_wait(claim, verdict, now))
    elif wait:
        await tx.payers.release(claim.claim_id)
    return Admission(verdict, wait is None)


async def foreseen(tx: Transaction, claim: Candidate, limits: PayerLimits, now: datetime) -> Verdict:
    """What the door would say to the claim now; nothing is written down."""
    status = await tx.payers.find(claim.payer_id) or PayerStatus(claim.payer_id, now)
    wait = await tx.payers.wait_of(claim.claim_id)
    in_flight = await tx.payers.in_flight(claim.payer_id, now=now)
    ticket = Ticket(wait.slot_at if wait else None, claim.deadline)
    return breaker.admit(status, ticket, in_flight, limits, now)[1]


async def after_answer(
    tx: Transaction, sent: Submission, answer: Settled, limits: PayerLimits, now: datetime
) -> PayerChange:
    """What an answer changes for the payer; whoever waits gets a slot when it is well again."""
    before = await tx.payers.lock(sent.payer_id, now=now)
    word = signal_of(answer, again=sent.after_lost_answer)
    after = breaker.after_answer(before, word, limits, now, reason=_reason(answer), retry_after=_wish(answer))
    after = await replanned(tx, before, after, limits, now)
    await tx.payers.save(after)
    await tx.payers.send_ended(sent.claim_id, sent.attempt)
    return PayerChange(before, after)


async def replanned(
    tx: Transaction, before: PayerStatus, after: PayerStatus, limits: PayerLimits, now: datetime
) -> PayerStatus:
    """The status after a change; a payer that became free gives every waiting claim a slot."""
    if is_free(before, limits) or not is_free(after, limits):
        return after
    after, slots = plan(after, await tx.payers.waiting(after.payer_id), limits, now)
    await tx.payers.give_slots(slots)
    return after


def _wait(claim: Candidate, hold: Hold, now: datetime) -> Wait:
    return Wait(
        claim_id=claim.claim_id,
        payer_id=claim.payer_id,
        since=now,
        until=min(hold.resume_at, hold.slot_at),  # a timer ends at a whole second
        slot_at=hold.slot_at,
        deadline=claim.deadline,
    )


def _reason(answer: Settled) -> str:
    return redact(getattr(answer, "error", ""))


def _wish(answer: Settled) -> timedelta | None:
    return answer.retry_after if isinstance(answer, Failed | AnswerLost) else None
