"""What the console's boards show: payers that came and went, mail that died, a day of failures and ends."""

from datetime import datetime, timedelta
from functools import partial

from domain.claim_state import ClaimState
from domain.kpis.rounds import NumberedSend
from domain.mail.mail import MailContent
from domain.operators import Attribution
from gateways.zeebe.messages import ProcessMessage
from persistence.repositories.first_rounds import TakenSend
from persistence.store import Store, Transaction
from tests.support.builders import REFUSAL, draft
from tests.support.console_scene import COAST, NORTH, SOUTH
from tests.support.mails import CIPHER, keep_dead
from workers.claims.ordering import Subject, ordered
from workers.mail.queueing import MailQueue, MailRequest
from workers.mail.tables import TABLES, write_tables
from workers.payers.limits import LimitsByPayer
from workers.payers.orders import Orders
from workers.payers.waking import Waker
from workers.upkeep.report_mail import report_id, template_of
from workers.upkeep.reports import AskedReport, ReportKind, make_report

WHO = Attribution("Bruno Lima (bruno, console)", "manutenção avisada por telefone")


class BoardScene:
    """Tells it into a store; nothing of it needs an engine."""

    def __init__(self, store: Store, now: datetime) -> None:
        self._store = store
        self._now = now

    async def everything(self) -> None:
        """All of it."""
        await self.payers()
        await self.letters()
        await self.failures()

    async def payers(self) -> None:
        """One payer was out twice, one was paused for a day."""
        for payer in (NORTH, SOUTH, COAST):
            await self._store.run(partial(_known, payer, self._at(400)))
        limits = LimitsByPayer({})
        orders = Orders(self._store, limits, Waker(self._store, limits))
        for payer, out, back in ((SOUTH, 140, 132), (SOUTH, 60, 58), (NORTH, 90, 66)):
            at = self._at(out)
            if payer == NORTH:
                async with ordered(self._store, "pause", Subject(payer_id=payer), WHO, at):
                    await orders.pause(payer, at, reason=WHO.reason)
            else:
                await orders.trip(payer, at, reason="queda")
            await orders.resume(payer, self._at(back))
        async with ordered(self._store, "trip", Subject(payer_id=SOUTH), WHO, self._at(3)):
            await orders.trip(SOUTH, self._at(3), reason=WHO.reason)
        await orders.pause(COAST, self._at(20), reason="x")

    async def letters(self) -> None:
        """Dead letters of several codes and companies."""
        for begin, (code, company, hours) in enumerate(
            (("550", "clinica-sol", 30), ("421", "hospital-central", 2), ("NO_RECIPIENT", "clinica-mar", 0.5))
        ):
            numbers = range(100 * begin, 100 * begin + 12 - 3 * begin)
            await keep_dead(
                self._store,
                numbers,
                at=self._at(hours),
                last_failure_code=code,
                company_id=company,
                last_failure_reason="why",
            )

    async def failures(self) -> None:
        """Claims that failed yesterday: most were recovered, some refused, one ran out."""
        for number in range(10):
            await self._failed(f"CLM-500-{number}", NORTH if number % 2 else COAST, number)

    async def report(self, kind: ReportKind, group: str, asked: AskedReport) -> str:
        """A report that was queued as a mail; its id."""
        made = await make_report(self._store, asked)
        data = {"period": "p", "number": str(made.number), "group": group, "notes": " ".join(made.notes)}
        content = MailContent(group, template_of(kind), "pt", data | {TABLES: write_tables(made.tables)})
        mail_id = report_id(kind, group, asked.period)
        queue = MailQueue(self._store, CIPHER, _nobody, "company-1")
        await self._store.run(lambda tx: queue.add(tx, MailRequest(mail_id, content), self._now))
        return mail_id

    async def _failed(self, claim_id: str, payer: str, number: int) -> None:
        at = self._at(24 - number / 10)
        end = ClaimState.ACCEPTED if number < 7 else ClaimState.IN_REVIEW

        async def put(tx: Transaction) -> None:
            await tx.claims.put(claim_id, payer, ClaimState.FAILED, now=at)

        await self._store.run(put)
        error = {"error": REFUSAL} if number in (7, 8) else {}
        await self._store.record(draft(claim_id, now=at, count=5 if number == 9 else 0, **error))
        later = at + timedelta(minutes=20 + number)

        async def close(tx: Transaction) -> None:
            await tx.claims.move(claim_id, end, now=later)
            if end is ClaimState.ACCEPTED:
                sends = NumberedSend(1, at - timedelta(minutes=1)), NumberedSend(2, later)
                await tx.first_rounds.take_all([TakenSend(claim_id, sends, later)])

        await self._store.run(close)

    def _at(self, hours: float) -> datetime:
        return self._now - timedelta(hours=hours)


async def _known(payer: str, at: datetime, tx: Transaction) -> None:
    await tx.payers.lock(payer, now=at)


async def _nobody(_message: ProcessMessage) -> bool:
    """No engine is asked."""
    return True
