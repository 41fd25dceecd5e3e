"""What came of an attempt, as those who watch are told it."""

from dataclasses import replace

import structlog

from domain.mail.attempts import MailDied, MailHeldBack, MailOver, MailWaits
from domain.mail.codes import MailFailure, OwnCode
from domain.mail.mail import Mail, MailState
from domain.mail.remedies import remedy
from domain.observations import MailAttempted, MailFate

log = structlog.get_logger(__name__)
NEVER_TRIED = frozenset({OwnCode.EXPIRED, OwnCode.PROCESS_ENDED})
Ended = MailOver | MailDied | MailWaits | MailHeldBack


def observed(ended: Ended, max_attempts: int, seconds: float | None) -> MailAttempted | None:
    """The attempt that ended so; None where the mail was over before. Its claim's id is as it is kept."""
    match ended:
        case MailOver(mail) if mail.state is MailState.SENT:
            return _attempted(mail, MailFate.SENT, max_attempts, seconds)
        case MailWaits(mail, wait):
            return replace(_attempted(mail, MailFate.WAITS, max_attempts, seconds), wait=wait)
        case MailHeldBack(mail, wait):
            made = _attempted(mail, MailFate.WAITS, max_attempts, seconds)
            return replace(made, wait=wait, attempt=made.attempt + 1)
        case MailDied():
            return _death(ended, max_attempts, seconds)
        case _:
            return None


def tell_held_back(mail: Mail, failure: MailFailure) -> None:
    """That our own side has to be mended before a mail can leave."""
    log.error(
        "mail_held_back",
        jobId=mail.outbox_id,
        companyId=mail.company_id,
        errorCode=failure.code,
        errorReason=failure.reason,
        advice=remedy(failure.code),
    )


def tell_broken(mail: Mail, error: Exception) -> None:
    """That an attempt met an error of our own, by its kind alone: what it says may quote an address."""
    log.error("mail_attempt_broke", jobId=mail.outbox_id, error=type(error).__name__)


def _death(died: MailDied, max_attempts: int, seconds: float | None) -> MailAttempted:
    return replace(
        _attempted(died.mail, MailFate.DIED, max_attempts, seconds),
        is_buried=died.mail.dead_lettered_at is not None,
        cause=died.move.cause,
        came_back=died.came_back,
        is_made=died.move.code not in NEVER_TRIED,
    )


def _attempted(mail: Mail, fate: MailFate, max_attempts: int, seconds: float | None) -> MailAttempted:
    failed = fate is not MailFate.SENT
    return MailAttempted(
        outbox_id=mail.outbox_id,
        company_id=mail.company_id,
        lane=mail.lane,
        attempt=mail.attempts,
        max_attempts=max_attempts,
        fate=fate,
        seconds=seconds,
        code=mail.last_failure_code if failed else None,
        reason=mail.last_failure_reason if failed else None,
        claim_id=mail.claim_id or None,
    )
