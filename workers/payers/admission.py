"""Admission to a payer, under the lock of its row: who goes, who waits, and what a result changes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from domain.breaker import Breaker
from domain.durations import within_reach
from domain.lifecycle_events import PayerStateChangedEvent
from domain.payer_status import PayerLimits, PayerStatus
from domain.redaction import redact
from domain.slots import Slot, Wait, latest, slot_of
from domain.submission import Settled, Submission
from domain.verdicts import Candidate, Go, Hold, Verdict
from persistence.repositories.facts import fact
from persistence.repositories.noting import payer_chain
from persistence.store import Transaction

LOST_AFTER = timedelta(minutes=4)
"""So long after its slot, a claim's wake-up must have been lost."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The verdict on a claim; `is_first` tells a wait that begins from one that goes on."""

    verdict: Verdict
    is_first: bool


@dataclass(frozen=True, slots=True)
class PayerChange:
    """A payer's status before and after something happened; `wakes` says that somebody may be due to come."""

    before: PayerStatus
    after: PayerStatus
    wakes: bool

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
        """How many sends and questions are under way; looked at more closely when nobody else may go."""
        payer_id, now, payers = self.breaker.status.payer_id, self.breaker.now, self.tx.payers
        number = await payers.in_flight(payer_id, now=now)
        if number >= self.breaker.places:
            await payers.shorten_sends(payer_id, now=now, longest=self.breaker.limits.lease)
        return number

    async def admit(self, candidate: Candidate) -> Admission:
        """Let the claim go or wait, and write it down; limits hold for all processes together."""
        return (await self.admit_all([candidate]))[0]

    async def admit_all(self, candidates: Sequence[Candidate]) -> Sequence[Admission]:
        """The same for claims that come at one moment, one after the other."""
        breaker, payers = self.breaker.aged(), self.tx.payers
        waits = await payers.waits_of([candidate.claim_id for candidate in candidates])
        under_way, admitted = await self.in_flight(), []
        for candidate in candidates:
            wait = waits.get(candidate.claim_id)
            status, verdict = breaker.admit(_waiting(candidate, wait, breaker), under_way)
            breaker, under_way = replace(breaker, status=status), under_way + isinstance(verdict, Go)
            admitted.append(Admission(verdict, is_first=wait is None))
        await self._save(breaker.status)
        await self._wait_or_not(zip(candidates, admitted, strict=True), waits)
        return admitted

    async def _wait_or_not(
        self, admitted: Iterable[tuple[Candidate, Admission]], waits: Mapping[str, Wait]
    ) -> None:
        held, waits_no_more = [], []
        for candidate, admission in admitted:
            if isinstance(admission.verdict, Hold):
                held.append(_wait(candidate, admission.verdict, self.breaker))
            elif candidate.claim_id in waits:
                waits_no_more.append(candidate.claim_id)
        if held:
            await self.tx.payers.hold_all(held)
        if waits_no_more:
            await self.tx.payers.release_all(waits_no_more)

    async def after_send(self, sent: Submission, result: Settled) -> PayerChange:
        """Keep what a send's result changes for the payer; the send is under way no more."""
        await self.tx.payers.send_ended(sent.claim_id, sent.attempt)
        return await self.change(self.after(result, again=sent.after_lost_answer).breaker.status)

    def after(self, result: Settled, *, again: bool) -> "LockedPayer":
        """The payer with what a send's result changes, to be kept by `change`."""
        status = self.breaker.after_send(result, again=again)
        return replace(self, breaker=replace(self.breaker, status=status))

    async def change(self, after: PayerStatus) -> PayerChange:
        """Keep a new status."""
        await self._save(after)
        breaker = replace(self.breaker, status=after)
        stays_free = self.breaker.is_free and breaker.is_free
        return PayerChange(self.breaker.status, after, wakes=breaker.gives_slots or not stays_free)

    async def _save(self, after: PayerStatus) -> None:
        """Keep a status; that it is another state is a fact for others."""
        before = self.breaker.status
        await self.tx.payers.save(after)
        if before.state is not after.state:
            now, name = self.breaker.now, after.payer_id
            moved = PayerStateChangedEvent(name, before.state, after.state, redact(after.reason), now)
            await self.tx.outbox.add([fact(moved, payer_chain(name), now, before.state, after.state, now)])

    async def give_slots(self) -> Sequence[str]:
        """Give the next slots to the most urgent that wait, a page of them; returns whom to wake."""
        breaker, payers = self.breaker.aged(), self.tx.payers
        if (room := await self._room(breaker)) <= 0:
            return ()
        waits = await payers.next_waiting(breaker.status, lost_before=breaker.now - LOST_AFTER, limit=room)
        status, slots = breaker.give(waits)
        await self._save(status)
        await payers.give_slots(slots, now=latest(breaker.now, status.changed_at))
        given = zip(waits, slots, strict=True)
        return [wait.claim_id for wait, slot in given if _is_needed(wait, slot, breaker.now)]

    async def _room(self, breaker: Breaker) -> int:
        """How many may be given a slot now.

        Those who are late with theirs count, or a slow worker drowns; but never for more than half, since
        some may never come.
        """
        if breaker.is_barred:
            return 0
        if not breaker.is_free:
            return breaker.places - await self.in_flight()
        if not breaker.gives_slots and breaker.status.slots_until:
            return 0
        now, page = breaker.now, breaker.limits.page
        late = await self.tx.payers.count_late(breaker.status, now - LOST_AFTER, now)
        return page - min(late, page // 2)


async def locked(tx: Transaction, payer_id: str, limits: PayerLimits, now: datetime) -> LockedPayer:
    """Lock the payer's row."""
    status = await tx.payers.lock(payer_id, now=now)
    return LockedPayer(tx, Breaker(status.bounded(now), limits, now))


def _waiting(candidate: Candidate, wait: Wait | None, breaker: Breaker) -> Candidate:
    """The claim with its wait; one at another payer is none."""
    if wait is None or wait.payer_id != candidate.payer_id:
        return candidate
    slot = slot_of(wait, breaker.status)
    until, slot_at = (at and within_reach(at, breaker.now) for at in (wait.until, slot))
    return replace(candidate, since=wait.since, until=until, slot_at=slot_at)


def _wait(candidate: Candidate, hold: Hold, breaker: Breaker) -> Wait:
    return Wait(
        claim_id=candidate.claim_id,
        payer_id=candidate.payer_id,
        since=breaker.now,
        until=min(hold.resume_at, hold.slot_at or hold.resume_at),  # a timer ends at a whole second
        slot_at=hold.slot_at,
        deadline=candidate.deadline,
        woken_at=hold.slot_at and latest(breaker.now, breaker.status.changed_at),
    )


def _is_needed(wait: Wait, slot: Slot, now: datetime) -> bool:
    """Whether a wake-up is: the claim's own timer ends later, or has ended for nothing."""
    return slot.at < wait.until or wait.until < now
