"""Dead letters: mail that no further attempt can bring, under the names of 03-retry-backoff-dlq."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from domain.errors import DomainError

DEAD_LETTER_LIFE = timedelta(days=7)
AT_MOST = 10_000
"""DLQ_MAX_SIZE: a mail beyond it stays FAILED, with its reason, until there is room."""


class InvalidDeadLetter(DomainError):  # noqa: N818 - it names a state, not a failure
    """A dead letter that nobody could act on: it says neither why the mail died nor after what."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A mail that died, and why; `original_data` is its content, encrypted as in its mail.

    `redriven_at` is when it was last sent on its way again: it stays here until it has arrived.
    """

    outbox_id: str
    company_id: str
    original_data: str
    failed_attempts: int
    last_failure_reason: str
    last_failure_code: str | None
    last_failure_at: datetime
    enqueued_at: datetime
    moved_at: datetime
    ttl: timedelta = DEAD_LETTER_LIFE
    redriven_at: datetime | None = None

    def __post_init__(self) -> None:
        if not self.last_failure_reason.strip():
            raise InvalidDeadLetter("A dead letter needs a lastFailureReason: say why the mail failed.")
        if self.failed_attempts < 1:
            raise InvalidDeadLetter(f"failedAttempts is {self.failed_attempts}: a dead letter has 1 or more.")

    @property
    def job_id(self) -> str:
        """The document's jobId, which is the outboxId: that makes sending idempotent."""
        return self.outbox_id

    @property
    def expires_at(self) -> datetime:
        """When it is removed."""
        return self.moved_at + self.ttl

    def exported(self, original_data: Mapping[str, object]) -> dict[str, object]:
        """The eleven fields of the document, in its order; `ttl` is in milliseconds as DLQ_TTL_MS is."""
        return {
            "jobId": self.job_id,
            "outboxId": self.outbox_id,
            "companyId": self.company_id,
            "originalData": original_data,
            "failedAttempts": self.failed_attempts,
            "lastFailureReason": self.last_failure_reason,
            "lastFailureCode": self.last_failure_code,
            "lastFailureTimestamp": _iso(self.last_failure_at),
            "enqueuedAt": _iso(self.enqueued_at),
            "movedToDLQAt": _iso(self.moved_at),
            "ttl": self.ttl // timedelta(milliseconds=1),
        }


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
