"""The facts that mail leaves in the outbox: that it was taken, that it died; never to whom it went."""

from datetime import datetime

from domain.lifecycle_events import EmailDeadLetteredEvent, EmailSentEvent
from domain.mail.mail import Mail, MailState
from domain.mail.names import DEAD_LETTER_QUEUE, QUEUE
from persistence.repositories.facts import fact, mail_chain
from persistence.repositories.outbox import OutboxEvent


def sent_fact(mail: Mail) -> OutboxEvent:
    """That a server took the mail."""
    at = mail.sent_at or mail.enqueued_at
    event = EmailSentEvent(
        outbox_id=mail.outbox_id,
        company_id=mail.company_id,
        claim_id=mail.claim_id or None,
        template=mail.template,
        attempts=mail.attempts,
        sent_at=at,
        queue=QUEUE,
        status=MailState.SENT,
    )
    return fact(event, mail_chain(mail.outbox_id, mail.claim_id), at, mail.outbox_id, mail.round)


def died_fact(mail: Mail, now: datetime) -> OutboxEvent:
    """That the mail died, and of what."""
    event = EmailDeadLetteredEvent(
        outbox_id=mail.outbox_id,
        company_id=mail.company_id,
        claim_id=mail.claim_id or None,
        template=mail.template,
        failed_attempts=mail.attempts,
        error_code=mail.last_failure_code,
        error_reason=mail.last_failure_reason,
        is_kept=mail.dead_lettered_at is not None,
        dead_lettered_at=now,
        queue=QUEUE,
        dead_letter_queue=DEAD_LETTER_QUEUE,
        status=MailState.FAILED,
    )
    return fact(event, mail_chain(mail.outbox_id, mail.claim_id), now, mail.outbox_id, mail.round)
