"""A mail's attempts: when one may begin, and what the mail is after it; pure, and each counted once."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from domain.mail.codes import MailFailure, OwnCode
from domain.mail.dead_letters import DeadLetter
from domain.mail.mail import Mail, MailState
from domain.mail.retry import (
    DeathCause,
    FailedAttempt,
    HoldBack,
    MailRetryProfile,
    MoveToDeadLetters,
    SendAgain,
    after_failure,
    death_of_age,
    is_expired,
)

LONGEST_LEASE = timedelta(minutes=15)
"""Longer than any setting allows: a lease that ends later was given by a clock that was wrong."""


@dataclass(frozen=True, slots=True)
class AttemptTerms:
    """By which profile mail is sent again, and how long one attempt may be under way.

    `takes` is the part of it that sending itself may take.
    """

    profile: MailRetryProfile
    lease: timedelta
    takes: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class AttemptBegun:
    """The mail with one attempt more, which is under way."""

    mail: Mail


@dataclass(frozen=True, slots=True)
class AttemptUnderWay:
    """Somebody is sending it, until then at the latest."""

    until: datetime


@dataclass(frozen=True, slots=True)
class MailOver:
    """It was sent, or has died, before."""

    mail: Mail


@dataclass(frozen=True, slots=True)
class MailDied:
    """The mail, FAILED, and why; `came_back`: its letter lay there before, and was sent again in vain."""

    mail: Mail
    move: MoveToDeadLetters
    came_back: bool = False


@dataclass(frozen=True, slots=True)
class MailWaits:
    """The mail, and how long it waits for its next attempt."""

    mail: Mail
    wait: timedelta


@dataclass(frozen=True, slots=True)
class MailHeldBack:
    """The mail, none of whose attempts is spent, and how long it waits for our own side to be mended."""

    mail: Mail
    wait: timedelta


def begin(
    mail: Mail, terms: AttemptTerms, now: datetime
) -> AttemptBegun | AttemptUnderWay | MailOver | MailDied:
    """Begin an attempt, if one may begin; one that was begun and never ended has failed."""
    if mail.state is not MailState.PENDING:
        return MailOver(mail)
    if mail.sending_until is not None:
        if _is_under_way(mail, now):
            return AttemptUnderWay(mail.sending_until)
        lost = fail(mail, MailFailure(OwnCode.WORKER_LOST), terms.profile, now)
        if isinstance(lost, MailDied):
            return lost
        mail = lost.mail
    counted = replace(mail, attempts=mail.attempts + 1)
    if is_expired(mail.expires_at, now):
        return _died(counted, death_of_age(mail.last_failure_reason), now)
    return AttemptBegun(replace(counted, sending_until=now + terms.lease))


def end(mail: Mail, now: datetime) -> MailDied | None:
    """The mail, dead because its process was ended; None while it is being sent, or where it is over."""
    if mail.state is not MailState.PENDING or _is_under_way(mail, now):
        return None
    failure = MailFailure(OwnCode.PROCESS_ENDED)
    move = MoveToDeadLetters(DeathCause.PERMANENT, failure.code, failure.reason)
    return _died(replace(mail, attempts=max(mail.attempts, 1)), move, now)


def is_untouched(kept: Mail, seen: Mail) -> bool:
    """Whether nobody has had a mail in hand, or brought it back, since it was seen."""
    told = (kept.round, kept.attempts, kept.job_key, kept.job_until)
    return told == (seen.round, seen.attempts, seen.job_key, seen.job_until)


def is_same_attempt(kept: Mail, begun: Mail) -> bool:
    """Whether a mail is still in the attempt that was begun; one that was not spent has its number again."""
    told = (kept.attempts, kept.round, kept.sending_until)
    return told == (begun.attempts, begun.round, begun.sending_until)


def may_leave(begun: Mail, kept: Mail | None, terms: AttemptTerms, now: datetime) -> bool:
    """Whether a begun attempt is still its worker's own, and can be over before another may begin."""
    mine = kept is not None and is_same_attempt(kept, begun)
    return mine and begun.sending_until is not None and now + terms.takes <= begun.sending_until


def fail(
    mail: Mail, failure: MailFailure, profile: MailRetryProfile, now: datetime
) -> MailWaits | MailHeldBack | MailDied:
    """The mail after the attempt that is under way has failed."""
    failed = FailedAttempt(mail.outbox_id, mail.attempts, failure, mail.expires_at)
    match after_failure(failed, profile, now):
        case SendAgain(wait):
            return MailWaits(_with_failure(mail, failure.code, failure.reason, now), wait)
        case HoldBack(wait):
            unspent = replace(mail, attempts=mail.attempts - 1)
            return MailHeldBack(_with_failure(unspent, failure.code, failure.reason, now), wait)
        case MoveToDeadLetters() as move:
            return _died(mail, move, now)


def has_died(mail: Mail) -> bool:
    """Whether a mail has died before, be it that it was brought back since."""
    return mail.round > 0 or mail.state is MailState.FAILED


def succeed(mail: Mail, message_id: str, now: datetime) -> Mail:
    """The mail after its server has taken it, whatever was thought of it meanwhile."""
    return replace(
        mail,
        state=MailState.SENT,
        message_id=message_id,
        sent_at=now,
        sending_until=None,
        dead_lettered_at=None,
    )


def dead_letter_of(mail: Mail, now: datetime, earlier: DeadLetter | None = None) -> DeadLetter:
    """What is kept of a mail that has died.

    One that died before, and was brought back in vain, never left: it keeps its place and its time to live,
    and every attempt that failed counts.
    """
    letter = _letter_of(mail, now)
    if earlier is None:
        return letter
    failed = earlier.failed_attempts + mail.attempts
    return replace(letter, failed_attempts=failed, moved_at=earlier.moved_at, ttl=earlier.ttl)


def _is_under_way(mail: Mail, now: datetime) -> bool:
    return mail.sending_until is not None and now < mail.sending_until <= now + LONGEST_LEASE


def _letter_of(mail: Mail, now: datetime) -> DeadLetter:
    return DeadLetter(
        outbox_id=mail.outbox_id,
        company_id=mail.company_id,
        original_data=mail.sealed,
        failed_attempts=mail.attempts,
        last_failure_reason=mail.last_failure_reason or "",
        last_failure_code=mail.last_failure_code,
        last_failure_at=mail.last_failure_at or now,
        enqueued_at=mail.enqueued_at,
        moved_at=now,
    )


def _died(mail: Mail, move: MoveToDeadLetters, now: datetime) -> MailDied:
    return MailDied(replace(_with_failure(mail, move.code, move.reason, now), state=MailState.FAILED), move)


def _with_failure(mail: Mail, code: str, reason: str, now: datetime) -> Mail:
    return replace(
        mail, last_failure_code=code, last_failure_reason=reason, last_failure_at=now, sending_until=None
    )
