"""When a mail is sent again: exponential, bounded, spread by a jitter that is derived and not drawn."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from domain.backoff import derive_draw
from domain.mail.codes import FailureKind, MailFailure, OwnCode

JITTER_KEY = "reenvio"
"""Not a secret: an auditor recomputes waits with it."""
_DRAW_BITS = 64
_DOUBLINGS = 40
HELD_BACK = timedelta(minutes=5)
"""How long a mail waits for our own side to be mended before it is tried once more."""


@dataclass(frozen=True, slots=True)
class MailRetryProfile:
    """One document's numbers, in milliseconds; `caps_after_jitter`: no wait is longer than the cap."""

    name: str
    max_attempts: int
    base_ms: int
    cap_ms: int
    jitter_percent: int = 25
    caps_after_jitter: bool = False


DEFAULT_PROFILE = "03"
PROFILES: Mapping[str, MailRetryProfile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            MailRetryProfile(DEFAULT_PROFILE, max_attempts=5, base_ms=1_000, cap_ms=60_000),
            MailRetryProfile("02-production", 5, 1_000, 300_000, caps_after_jitter=True),
            MailRetryProfile("02-development", 3, 500, 30_000, caps_after_jitter=True),
        )
    }
)


class DeathCause(StrEnum):
    """Why a mail is not sent again."""

    PERMANENT = "PERMANENT"
    ATTEMPTS = "ATTEMPTS"
    AGE = "AGE"


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that failed, counted from 1, at a mail that is to be sent by a moment."""

    outbox_id: str
    attempt: int
    failure: MailFailure
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SendAgain:
    """Wait, then try once more."""

    wait: timedelta


@dataclass(frozen=True, slots=True)
class HoldBack:
    """Wait until our own side is mended; the attempt is not spent."""

    wait: timedelta


@dataclass(frozen=True, slots=True)
class MoveToDeadLetters:
    """Do not try any more; `reason` is the lastFailureReason."""

    cause: DeathCause
    code: str
    reason: str


AfterFailure = SendAgain | HoldBack | MoveToDeadLetters


def after_failure(failed: FailedAttempt, profile: MailRetryProfile, now: datetime) -> AfterFailure:
    """What follows a failed attempt: first whether it can help, then whether one is left, then its age.

    Trouble of our own spends none: it would kill every mail within seconds, and none is to blame.
    """
    failure = failed.failure
    if failure.kind is FailureKind.PERMANENT:
        return MoveToDeadLetters(DeathCause.PERMANENT, failure.code, failure.reason)
    if failure.kind is FailureKind.OURS and not is_expired(failed.expires_at, now):
        return HoldBack(HELD_BACK)
    if failed.attempt >= profile.max_attempts:
        return MoveToDeadLetters(DeathCause.ATTEMPTS, failure.code, failure.reason)
    if is_expired(failed.expires_at, now):
        return MoveToDeadLetters(DeathCause.AGE, failure.code, failure.reason)
    return SendAgain(wait_after(failed.outbox_id, failed.attempt, profile))


def is_expired(expires_at: datetime, now: datetime) -> bool:
    """Whether a mail has waited for as long as it may."""
    return now >= expires_at


def death_of_age(last_failure: str | None) -> MoveToDeadLetters:
    """What becomes of a mail whose time was over before it could be tried (once more)."""
    reason = MailFailure(OwnCode.EXPIRED).reason
    return MoveToDeadLetters(
        DeathCause.AGE, OwnCode.EXPIRED, f"{reason}; before that {last_failure}" if last_failure else reason
    )


def wait_window(attempt: int, profile: MailRetryProfile) -> tuple[int, int]:
    """The shortest and the longest wait after a failed attempt, in milliseconds."""
    grown = profile.base_ms << min(attempt - 1, _DOUBLINGS)
    base = grown if profile.caps_after_jitter else min(grown, profile.cap_ms)
    low = base * (100 - profile.jitter_percent) // 100
    high = base * (100 + profile.jitter_percent) // 100
    return (min(low, profile.cap_ms), min(high, profile.cap_ms)) if profile.caps_after_jitter else (low, high)


def wait_after(outbox_id: str, attempt: int, profile: MailRetryProfile) -> timedelta:
    """The wait: the same for the same mail and attempt, another for each other."""
    low, high = wait_window(attempt, profile)
    draw = derive_draw(outbox_id, attempt, version=profile.name, key=JITTER_KEY)
    return timedelta(milliseconds=low + ((high - low + 1) * draw >> _DRAW_BITS))
