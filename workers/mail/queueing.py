"""The queue of mail: a mail is committed with what asks for it; the message that starts its process follows.

When that gets lost, the mail is left PENDING without a start: `start_left_behind` makes it good. When the
process itself is gone, as with an engine's data, `start_forgotten` does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from bpmn.names import Message, Variable
from domain.errors import Trouble
from domain.mail.mail import MAIL_LIFE, Mail, MailContent
from gateways.zeebe.messages import ProcessMessage, Publish
from persistence.encryption.cipher import Cipher
from persistence.repositories.mails import seal_mail
from persistence.store import Store, Transaction

LEFT_BEHIND = timedelta(minutes=1)
KEEP = timedelta(hours=1)
FORGOTTEN = timedelta(minutes=30)
"""So long nobody has had it in hand before its process is asked for once more."""
AT_ONCE = 500
log = structlog.get_logger(__name__)


def nobody_waits() -> None:
    """Nobody in this process sends mail."""


@dataclass(frozen=True, slots=True)
class MailRequest:
    """A mail that somebody asks for; the same `outbox_id` is the same mail."""

    outbox_id: str
    content: MailContent
    company_id: str | None = None
    claim_id: str = ""


@dataclass(frozen=True, slots=True)
class MailQueue:
    """Queues mail, and asks the engine for a process for each.

    `company_id` and `language` are those of mail for which nobody names another; `tell` wakes who sends.
    """

    store: Store
    cipher: Cipher
    publish: Publish
    company_id: str
    language: str = "pt"
    lanes: int = 1
    tell: Callable[[], None] = nobody_waits

    async def add(self, tx: Transaction, request: MailRequest, now: datetime) -> Mail:
        """Queue a mail in the caller's transaction; one that was queued before stays as it is."""
        company_id = request.company_id or self.company_id
        lane = await tx.mail_lanes.assign(company_id, self.lanes, now=now)
        mail = self._mail(request, company_id, lane, now)
        if await tx.mails.add(mail):
            return mail
        return await tx.mails.find(mail.outbox_id) or mail

    def _mail(self, request: MailRequest, company_id: str, lane: str, now: datetime) -> Mail:
        return Mail(
            outbox_id=request.outbox_id,
            company_id=company_id,
            lane=lane,
            template=request.content.template,
            sealed=seal_mail(self.cipher, request.outbox_id, request.content),
            enqueued_at=now,
            expires_at=now + MAIL_LIFE,
            claim_id=request.claim_id,
        )

    async def start(self, mails: Sequence[Mail], now: datetime, keep: timedelta = KEEP) -> int:
        """Ask for the processes of committed mails; one that the engine does not take is left for later."""
        started = [mail.outbox_id for mail in mails if await self._is_started(mail, keep)]
        if started:
            self.tell()
            await self.store.run(lambda tx: tx.mails.started(started, now=now))
        return len(started)

    async def start_left_behind(self, now: datetime) -> int:
        """Ask for those whose message got lost; how many there were."""
        before = now - LEFT_BEHIND
        waiting = await self.store.look(lambda tx: tx.mails.not_started(before, AT_ONCE))
        return await self.start(waiting, now)

    async def start_forgotten(self, now: datetime) -> int:
        """Ask once more for those that nobody has had in hand for long; how many there were.

        A message that is not kept starts a process where the mail has none, and is dropped where it has.
        """
        return await self.start(await self.forgotten(now), now, keep=timedelta())

    async def forgotten(self, now: datetime) -> Sequence[Mail]:
        """Those that wait though nobody has had them in hand for long."""
        return await self.store.look(lambda tx: tx.mails.out_of_hands(now - FORGOTTEN, AT_ONCE))

    async def _is_started(self, mail: Mail, keep: timedelta) -> bool:
        variables = {
            Variable.OUTBOX_ID: mail.outbox_id,
            Variable.LANE: mail.lane,
            Variable.COMPANY_ID: mail.company_id,
        } | ({Variable.CLAIM_ID: mail.claim_id} if mail.claim_id else {})
        message = ProcessMessage(Message.EMAIL_QUEUED, mail.start_id, variables, keep, mail.start_id)
        try:
            await self.publish(message)
        except Trouble as refused:
            log.warning("mail_not_started", outbox_id=mail.outbox_id, why=str(refused))
            return False
        return True
