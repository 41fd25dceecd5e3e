"""One e-mail from the moment it is queued: what it says, where it stands, what became of each attempt."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID, uuid5

from domain.standing import HeldJob, JobPlace

OUTBOX_IDS = UUID("0b8d7a3e-52c4-5f0e-9a61-d7c1f5f0a9b2")
MAIL_LIFE = timedelta(hours=24)
"""03-retry-backoff-dlq: what still waits after a day is not sent late."""


class MailState(StrEnum):
    """The documents' states of a mail."""

    PENDING = "PENDING"
    SENT = "SENT"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class MailContent:
    """What was asked for: to whom (a group of people, or an address), which text, in which language.

    `data` are references that the text names, such as a claim's id; never a patient's.
    """

    recipient: str
    template: str
    language: str
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail as it is kept; `sealed` is its content, encrypted, and `said` what a server last said of it.

    `round` counts how often it was brought back from the dead letters. `published_at` is when its process
    was asked to start, `sending_until` when an attempt that is under way must be over, `dead_lettered_at`
    when it was moved: a FAILED one without it found no room there. The job is the one that last tried it.
    """

    outbox_id: str
    company_id: str
    lane: str
    template: str
    sealed: str
    enqueued_at: datetime
    expires_at: datetime
    claim_id: str = ""
    state: MailState = MailState.PENDING
    attempts: int = 0
    round: int = 0
    published_at: datetime | None = None
    sending_until: datetime | None = None
    last_failure_reason: str | None = None
    last_failure_code: str | None = None
    last_failure_at: datetime | None = None
    said: str | None = None
    message_id: str | None = None
    sent_at: datetime | None = None
    dead_lettered_at: datetime | None = None
    job_key: int | None = None
    job_retries: int | None = None
    job_until: datetime | None = None
    job_place: str | None = None

    @property
    def start_id(self) -> str:
        """What makes starting its process once more the same start; each round has its own.

        A process of an earlier round that stands on an incident does not keep the next one from starting.
        """
        return f"{self.outbox_id}/{self.round}"

    def requeued(self, now: datetime) -> "Mail":
        """The mail with all its attempts and its whole time before it again, in a round of its own."""
        return replace(
            self,
            state=MailState.PENDING,
            attempts=0,
            round=self.round + 1,
            expires_at=now + MAIL_LIFE,
            published_at=None,
            sending_until=None,
            dead_lettered_at=None,
            job_key=None,
            job_retries=None,
            job_until=None,
            job_place=None,
        )

    @property
    def last_job(self) -> HeldJob | None:
        """The job that last had it in hand, if it is known."""
        if self.job_key is None:
            return None
        place = JobPlace.read(self.job_place) if self.job_place else None
        return HeldJob(self.job_key, self.job_retries or 0, self.job_until or self.expires_at, place)

    def in_hands_of(self, job: HeldJob | None) -> "Mail":
        """The mail, which this job is about to try."""
        if job is None:
            return self
        where = job.written_place
        return replace(self, job_key=job.key, job_retries=job.retries, job_until=job.until, job_place=where)


def queued_at(expires_at: datetime) -> datetime:
    """When a mail with this end was last queued: one that is brought back keeps `enqueued_at` alone."""
    return expires_at - MAIL_LIFE


def outbox_id(*identity: object) -> str:
    """An id derived from what makes the mail this mail: asking for it twice gives one mail."""
    return str(uuid5(OUTBOX_IDS, "\x1f".join(map(str, identity))))


def message_id(outbox_id: str, domain: str) -> str:
    """The Message-Id: the same however often the mail is sent, so that a second copy is known as one."""
    return f"<{outbox_id}@{domain}>"
