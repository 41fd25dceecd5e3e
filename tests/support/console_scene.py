"""A hospital's morning for the console: claims in every state, payers in several, indicators of a month."""

from datetime import datetime, timedelta

from domain.catalog import Team
from domain.claim_state import ClaimState
from domain.kpis.definitions import KPIS, Measure, Unit
from domain.kpis.periods import Frequency
from domain.payer_status import PayerState, PayerStatus
from domain.slots import Wait
from domain.submission import Accepted, AnswerLost, Failed, ProtocolMissing
from persistence.repositories.attempts import AttemptResult
from persistence.repositories.claims import Arrival
from persistence.repositories.incidents import StuckJob
from persistence.repositories.kpi_snapshots import KpiSnapshot
from persistence.repositories.reviews import Review
from persistence.store import Store, Transaction
from tests.support.builders import draft

NORTH, SOUTH, COAST = "operadora-norte", "operadora-sul", "operadora-litoral"
CARD, PROCEDURE, TIMED_OUT = "TISS:1001", "TISS:1801", "HTTP:504"


class ConsoleScene:
    """Tells claims' stories into a store, as jobs would."""

    def __init__(self, store: Store, now: datetime) -> None:
        self._store = store
        self._now = now
        self._number = 40_100

    async def everything(self) -> None:
        """All of it."""
        for payer, state in (
            (NORTH, PayerState.CLOSED),
            (SOUTH, PayerState.OPEN),
            (COAST, PayerState.PAUSED),
        ):
            await self.payer(payer, state)
        for n in range(6):
            await self.accepted(NORTH, hours=2 + n)
        for n in range(9):
            await self.waiting(NORTH if n % 2 else COAST, minutes=12 * n + 5, count=n % 4)
        for n in range(7):
            await self.held(SOUTH, hours=n / 4)
        for n in range(5):
            await self.in_review(COAST, CARD, Team.REGISTRATION, hours=30 - n, due=40)
        for n in range(2):
            await self.in_review(NORTH, PROCEDURE, Team.BILLING_MANAGEMENT, hours=6 - n, due=3)
        await self.exhausted(COAST, hours=12)
        await self.incident(NORTH)
        await self.received(NORTH)
        await self.indicators()

    async def received(self, payer: str, *, hours: float = 0, due: float = 36) -> str:
        """A claim that has come in with its file."""
        self._number += 1
        claim_id, at = f"CLM-302147-PREST0001-{self._number}", self._at(hours)
        arrival = Arrival(claim_id, payer, self._now + timedelta(hours=due), "hash", str(self._number))

        async def receive(tx: Transaction) -> None:
            await tx.claims.receive_all([(arrival, at)])
            await tx.journal.write(claim_id, "received", f"batch {self._number}", now=at)

        await self._store.run(receive)
        return claim_id

    async def accepted(self, payer: str, *, hours: float) -> str:
        """One that its payer took at the first send."""
        claim_id, at = await self.received(payer, hours=hours), self._at(hours - 0.1)
        await self._sent(claim_id, Accepted.stored_as, at)
        number = f"9{self._number:09d}"
        await self._store.run(
            lambda tx: tx.claims.move(claim_id, ClaimState.ACCEPTED, now=at, protocol_number=number)
        )
        return claim_id

    async def waiting(self, payer: str, *, minutes: float, count: int) -> str:
        """One that failed `count` + 1 times and waits for its time."""
        claim_id = await self.received(payer, hours=4)
        for n in range(count + 1):
            await self.failed(claim_id, TIMED_OUT, count=n, hours=3.5 - 0.5 * n)
        due = self._now + timedelta(minutes=minutes)
        row = {"retry_count": count + 1, "next_retry_time": due}
        await self._store.run(lambda tx: tx.claims.move(claim_id, ClaimState.WAITING, now=self._now, **row))
        return claim_id

    async def held(self, payer: str, *, hours: float) -> str:
        """One that waits for its payer."""
        claim_id, since = await self.received(payer, hours=hours + 1), self._at(hours)
        until = self._now + timedelta(hours=12)

        async def hold(tx: Transaction) -> None:
            await tx.claims.move(claim_id, ClaimState.WAITING, now=since, next_retry_time=until)
            await tx.payers.hold(Wait(claim_id, payer, since, until))
            await tx.journal.write(claim_id, "payer_unavailable", "open; no attempt spent", now=since)

        await self._store.run(hold)
        return claim_id

    async def in_review(self, payer: str, code: str, team: Team, *, hours: float, due: float) -> str:
        """One that its payer refused for good."""
        claim_id = await self.received(payer, hours=hours + 1, due=due)
        await self.failed(claim_id, code, count=0, hours=hours)
        await self._review(claim_id, "PERMANENT_ERROR", team, hours)
        return claim_id

    async def exhausted(self, payer: str, *, hours: float) -> str:
        """One whose attempts are spent."""
        claim_id = await self.received(payer, hours=hours + 8)
        for n in range(6):
            await self.failed(claim_id, TIMED_OUT, count=n, hours=hours + 6 - n)
        await self._review(claim_id, "MAX_RETRIES_EXCEEDED", Team.BILLING_MANAGEMENT, hours)
        return claim_id

    async def ended_by_deadline(self, payer: str, *, hours: float) -> str:
        """One whose deadline leaves no time for another retry."""
        claim_id, at = await self.received(payer, hours=hours + 1, due=9), self._at(hours)
        await self._sent(claim_id, Failed.stored_as, at)
        soon = at + timedelta(minutes=3)
        await self._store.record(draft(claim_id, error="TIMEOUT", code=TIMED_OUT, now=at, deadline=soon))
        await self._review(claim_id, "MAX_RETRIES_EXCEEDED", Team.BILLING_MANAGEMENT, hours)
        return claim_id

    async def missing_protocol(self, payer: str, *, hours: float) -> str:
        """One that its payer has, without a protocol."""
        claim_id = await self.received(payer, hours=hours + 1)
        await self._sent(claim_id, ProtocolMissing.stored_as, self._at(hours))
        await self._review(claim_id, "PROTOCOL_MISSING", Team.BILLING_MANAGEMENT, hours)
        return claim_id

    async def arrival_unknown(self, payer: str, *, hours: float) -> str:
        """One that its payer may have."""
        claim_id = await self.received(payer, hours=hours + 1)
        await self.lose_answer(claim_id)
        await self._review(claim_id, "ARRIVAL_UNKNOWN", Team.BILLING_MANAGEMENT, hours)
        return claim_id

    async def lose_answer(self, claim_id: str) -> None:
        """A send whose answer was lost."""
        await self._sent(claim_id, AnswerLost.stored_as, self._at(2))

    async def reviewed_again(self, claim_id: str, *, hours: float) -> None:
        """The same claim in another review."""
        await self._review(claim_id, "PERMANENT_ERROR", Team.REGISTRATION, hours)

    def begin_at(self, number: int) -> None:
        """Number what comes from here on."""
        self._number = number

    async def incident(self, payer: str) -> str:
        """One whose process stands on an incident."""
        claim_id = await self.received(payer, hours=2)
        await self.stick(claim_id)
        return claim_id

    async def stick(self, claim_id: str) -> None:
        """Its process stands on an incident from now on."""
        at = self._at(1)
        stuck = StuckJob("retryCount is missing", at, "submit-claim", 7, 7, "Task_SubmitClaim", 8, 9)

        async def note(tx: Transaction) -> None:
            await tx.incidents.note(claim_id, stuck, sends=True)
            await tx.journal.write(claim_id, "incident", stuck.message, now=at)

        await self._store.run(note)

    async def failed(self, claim_id: str, code: str, *, count: int, hours: float) -> None:
        """A send that failed, and what was decided on it."""
        at = self._at(hours)
        await self._sent(claim_id, Failed.stored_as, at)
        error = "TIMEOUT" if code == TIMED_OUT else "recusa"
        await self._store.record(draft(claim_id, error=error, code=code, now=at, count=count))

    async def payer(self, payer_id: str, state: PayerState) -> None:
        """A payer in a state for some time."""
        since = self._at(1.5)

        async def save(tx: Transaction) -> None:
            await tx.payers.lock(payer_id, now=since)
            next_try = self._now + timedelta(minutes=20) if state is PayerState.OPEN else None
            await tx.payers.save(PayerStatus(payer_id, since, state, next_try_at=next_try))

        await self._store.run(save)

    async def indicators(self) -> None:
        """A month of snapshots."""
        today = self._now.date()
        taken = [
            KpiSnapshot(
                kpi.name, kpi.frequency, today - timedelta(days=day), "", _measure(kpi.unit, day), self._now
            )
            for kpi in KPIS
            for day in range(1, 30, 7 if kpi.frequency is Frequency.WEEKLY else 1)
        ]
        await self._store.run(lambda tx: tx.kpi_snapshots.keep(taken))

    async def _sent(self, claim_id: str, outcome: str, at: datetime) -> None:
        async def send(tx: Transaction) -> None:
            attempt = await tx.attempts.start(claim_id, 1, now=at)
            await tx.attempts.finish(claim_id, attempt, AttemptResult(outcome), now=at)

        await self._store.run(send)

    async def _review(self, claim_id: str, reason: str, team: Team, hours: float) -> None:
        at = self._at(hours)

        async def open_review(tx: Transaction) -> None:
            self._number += 1
            await tx.reviews.open(Review(claim_id, 0, reason, None, team), job_key=self._number, now=at)
            count = max(len(await tx.decisions.of_claims([claim_id])) - 1, 0)
            spent = {"reason": reason, "retry_count": count}
            await tx.claims.move(claim_id, ClaimState.IN_REVIEW, now=at, **spent)
            await tx.journal.write(claim_id, "review_opened", reason, now=at)
            await tx.journal.write(claim_id, "notified", team, now=at)

        await self._store.run(open_review)

    def _at(self, hours: float) -> datetime:
        return self._now - timedelta(hours=hours)


def _measure(unit: Unit, day: int) -> Measure:
    if unit is Unit.SHARE:
        return Measure(80 + day * 7 % 17, 100, 100, 0)
    if unit is Unit.NUMBER:
        return Measure(110 + day * 7 % 25, 100, 100, 0)
    return Measure(2_400 + day * 331 % 1_900, 1, 40, 0)
