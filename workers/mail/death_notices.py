"""What people are told of mail that died: the administrator, and the company that it was of."""

from dataclasses import dataclass
from datetime import datetime

from domain.mail.mail import Mail, MailContent, outbox_id
from persistence.store import Transaction
from workers.mail.queueing import MailQueue, MailRequest
from workers.mail.recipients import OtherGroup, Recipients

DEAD_LETTER = "dead-letter"
NOTICES = {OtherGroup.ADMINISTRATOR: DEAD_LETTER, OtherGroup.COMPANY: "dead-letter-company"}
"""The templates of a notice about mail that died; one that dies itself makes no further notice."""


@dataclass(frozen=True, slots=True)
class DeathNotices:
    """At most one per group, company and hour: an outage of the mail server makes no flood of its own."""

    queue: MailQueue
    recipients: Recipients

    async def add(self, tx: Transaction, mail: Mail, now: datetime) -> None:
        """Queue what is to be told of a mail, in the transaction in which it dies."""
        for group in NOTICES if mail.template not in NOTICES.values() else ():
            if self.recipients.of(group, mail.company_id):
                content = MailContent(group, NOTICES[group], self.queue.language, _facts(mail))
                request = MailRequest(_notice_id(mail, group, now), content, mail.company_id)
                await self.queue.add(tx, request, now)

    async def start(self, mail: Mail) -> None:
        """Ask for the processes of what was queued, once that is committed."""
        now = mail.last_failure_at or mail.enqueued_at
        ids = [_notice_id(mail, group, now) for group in OtherGroup]
        found = (await self.queue.store.look(lambda tx: tx.mails.find_all(ids))).values()
        await self.queue.start([notice for notice in found if notice.published_at is None], now)


def _notice_id(mail: Mail, group: OtherGroup, now: datetime) -> str:
    return outbox_id(DEAD_LETTER, group, mail.company_id, f"{now:%Y-%m-%dT%H}")


def _facts(mail: Mail) -> dict[str, str]:
    return {
        "outboxId": mail.outbox_id,
        "companyId": mail.company_id,
        "failedAttempts": str(mail.attempts),
        "code": mail.last_failure_code or "-",
        "reason": mail.last_failure_reason or "-",
    }
