"""Mail on its way, and mail that died."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, String, Table, Text, text

from persistence.tables.base import CLAIM_ID_LENGTH, metadata
from persistence.tables.types import UtcDateTime

MAIL_STATES = ("PENDING", "SENT", "FAILED")
NOT_STARTED = text("state = 'PENDING' AND published_at IS NULL")
PENDING = text("state = 'PENDING'")
BEING_SENT = text("state = 'PENDING' AND sending_until IS NOT NULL")
NO_ROOM = text("state = 'FAILED' AND dead_lettered_at IS NULL")

mails = Table(
    "mails",
    metadata,
    Column("outbox_id", String(36), primary_key=True),
    Column("company_id", String(64), nullable=False),
    Column("claim_id", String(CLAIM_ID_LENGTH), nullable=False),
    Column("lane", String(16), nullable=False),
    Column("template", String(64), nullable=False),
    Column("sealed", Text, nullable=False),
    Column("state", String(8), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("round", Integer, nullable=False),
    Column("enqueued_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("published_at", UtcDateTime),
    Column("sending_until", UtcDateTime),
    Column("last_failure_reason", Text),
    Column("last_failure_code", String(64)),
    Column("last_failure_at", UtcDateTime),
    Column("said", Text),
    Column("message_id", String(255)),
    Column("sent_at", UtcDateTime),
    Column("dead_lettered_at", UtcDateTime),
    Column("job_key", BigInteger),  # the job of ours that last tried to send it, for the watch
    Column("job_retries", Integer),
    Column("job_until", UtcDateTime),
    Column("job_place", Text),  # where it stands in its process, so that its task can begin anew
    CheckConstraint("state IN ('" + "', '".join(MAIL_STATES) + "')", name="state"),
    Index("ix_mails_claim_id", "claim_id"),
    Index("ix_mails_enqueued_at", "enqueued_at"),
    Index("ix_mails_not_started", "enqueued_at", sqlite_where=NOT_STARTED, postgresql_where=NOT_STARTED),
    Index("ix_mails_waiting", "lane", "enqueued_at", sqlite_where=PENDING, postgresql_where=PENDING),
    Index("ix_mails_expires_at", "expires_at", sqlite_where=PENDING, postgresql_where=PENDING),
    Index(
        "ix_mails_sending",
        "sending_until",
        "company_id",
        sqlite_where=BEING_SENT,
        postgresql_where=BEING_SENT,
    ),
    Index("ix_mails_no_room", "last_failure_at", sqlite_where=NO_ROOM, postgresql_where=NO_ROOM),
)

dead_letters = Table(
    "dead_letters",
    metadata,
    Column("outbox_id", String(36), primary_key=True),
    Column("company_id", String(64), nullable=False),
    Column("original_data", Text, nullable=False),
    Column("failed_attempts", Integer, nullable=False),
    Column("last_failure_reason", Text, nullable=False),
    Column("last_failure_code", String(64)),
    Column("last_failure_at", UtcDateTime, nullable=False),
    Column("enqueued_at", UtcDateTime, nullable=False),
    Column("moved_at", UtcDateTime, nullable=False),
    Column("ttl_ms", BigInteger, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("redriven_at", UtcDateTime),
    CheckConstraint("failed_attempts >= 1", name="failed_attempts"),
    CheckConstraint("trim(last_failure_reason) <> ''", name="last_failure_reason"),
    Index("ix_dead_letters_moved_at", "moved_at", "outbox_id"),
    Index("ix_dead_letters_code", "last_failure_code", "moved_at", "outbox_id"),
    Index("ix_dead_letters_company_id", "company_id", "moved_at", "outbox_id"),
    Index("ix_dead_letters_expires_at", "expires_at"),
)
