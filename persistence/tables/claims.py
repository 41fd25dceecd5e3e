"""Claims, their sends, and what people see and decide."""

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    String,
    Table,
    Text,
    text,
)

from persistence.tables.base import CLAIM_ID_LENGTH, metadata
from persistence.tables.types import BigId, UtcDateTime

CLAIM_STATES = (
    "RECEIVED",
    "SUBMITTING",
    "FAILED",
    "WAITING",
    "IN_REVIEW",
    "ACCEPTED",
    "CANCELLED",
    "WRITTEN_OFF",
)
HAS_PAYLOAD = text("result IS NOT NULL")
ON_AN_INCIDENT = text("incident IS NOT NULL")
GUIDES_NOT_KEPT = text("content_hash IS NOT NULL AND (guides_of IS NULL OR guides_of <> content_hash)")
"""Claims that came with a file whose guides are not in `claim_guides`: an earlier version took it in."""

HAS_PROTOCOL = text("protocol_number IS NOT NULL")
IS_OPEN = text("state NOT IN ('ACCEPTED', 'CANCELLED', 'WRITTEN_OFF')")

claims = Table(
    "claims",
    metadata,
    Column("claim_id", String(CLAIM_ID_LENGTH), primary_key=True),
    Column("payer_id", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("retry_count", Integer, nullable=False, default=0),
    Column("next_retry_time", UtcDateTime),
    Column("protocol_number", String(64)),
    Column("reason", Text),
    Column("deadline", UtcDateTime),
    Column("content_hash", String(64)),
    Column("batch_number", String(32)),
    Column("guides_of", String(64)),  # the content whose guides are kept
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("incident", JSON(none_as_null=True)),
    Column("process_instance_key", BigInteger),  # the process that sends it
    Column("job_key", BigInteger),  # the job of ours that last wrote about it, for the watch
    Column("job_retries", Integer),
    Column("job_until", UtcDateTime),
    Column("job_place", Text),  # where it stands in its process, so that its task can begin anew
    Column("job_rests_until", UtcDateTime),  # the end of a backoff of ours, as long as it is `job_until` too
    CheckConstraint("state IN ('" + "', '".join(CLAIM_STATES) + "')", name="state"),
    Index("ix_claims_state", "state", "next_retry_time"),
    Index("ix_claims_updated_at", "updated_at"),
    Index("ix_claims_created_at", "created_at"),
    Index("ix_claims_payer_id", "payer_id", "created_at"),
    Index("ix_claims_batch_number", "batch_number", "payer_id"),
    Index(
        "ix_claims_incident",
        "created_at",
        "claim_id",
        sqlite_where=ON_AN_INCIDENT,
        postgresql_where=ON_AN_INCIDENT,
    ),
    Index("ix_claims_deadline", "deadline", "claim_id", sqlite_where=IS_OPEN, postgresql_where=IS_OPEN),
    Index(
        "ix_claims_protocol_number",
        "protocol_number",
        sqlite_where=HAS_PROTOCOL,
        postgresql_where=HAS_PROTOCOL,
    ),
    Index(
        "ix_claims_guides_not_kept",
        "payer_id",
        sqlite_where=GUIDES_NOT_KEPT,
        postgresql_where=GUIDES_NOT_KEPT,
    ),
)

claim_guides = Table(
    "claim_guides",
    metadata,
    Column("claim_id", String(CLAIM_ID_LENGTH), primary_key=True),
    Column("guide_hash", String(32), primary_key=True),
    Column("payer_id", String(64), nullable=False),
    Column("key_id", String(32), nullable=False),
    Index("ix_claim_guides_guide_hash", "payer_id", "key_id", "guide_hash"),
)

claim_payloads = Table(
    "claim_payloads",
    metadata,
    Column("claim_id", String(CLAIM_ID_LENGTH), primary_key=True),
    Column("ciphertext", Text, nullable=False),
    Column("stored_at", UtcDateTime, nullable=False),
    Column("key_name", String(32)),  # of the key it is sealed with
    Index("ix_claim_payloads_stored_at", "stored_at"),
    Index("ix_claim_payloads_key_name", "key_name", "claim_id"),
)

claim_texts = Table(
    "claim_texts",
    metadata,
    Column("text_id", BigId, primary_key=True),
    Column("claim_id", String(CLAIM_ID_LENGTH), nullable=False),
    Column("source", String(16), nullable=False),
    Column("ciphertext", Text, nullable=False),
    Column("noted_at", UtcDateTime, nullable=False),
    Index("ix_claim_texts_claim_id", "claim_id", "text_id"),
    Index("ix_claim_texts_noted_at", "noted_at"),
)

submission_attempts = Table(
    "submission_attempts",
    metadata,
    Column("claim_id", String(CLAIM_ID_LENGTH), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("job_key", BigInteger, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Column("outcome", String(24)),
    Column("result", JSON(none_as_null=True)),
    Column("undone_at", UtcDateTime),
    Index("ix_submission_attempts_job_key", "job_key"),
    Index("ix_submission_attempts_started_at", "started_at"),
    Index(
        "ix_submission_attempts_payload",
        "started_at",
        sqlite_where=HAS_PAYLOAD,
        postgresql_where=HAS_PAYLOAD,
    ),
)

reviews = Table(
    "reviews",
    metadata,
    Column("review_id", BigId, primary_key=True),
    Column("claim_id", String(CLAIM_ID_LENGTH), nullable=False),
    Column("job_key", BigInteger, nullable=False),
    Column("round", Integer, nullable=False),
    Column("reason", String(64), nullable=False),
    Column("detail", Text),
    Column("opened_at", UtcDateTime, nullable=False),
    Column("team", String(32)),
    Index("ix_reviews_job_key", "job_key", "claim_id", unique=True),
    Index("ix_reviews_claim_id", "claim_id"),
    Index("ix_reviews_opened_at", "opened_at"),
)

notices = Table(
    "notices",
    metadata,
    Column("notice_id", BigId, primary_key=True),
    Column("claim_id", String(CLAIM_ID_LENGTH), nullable=False),
    Column("job_key", BigInteger, nullable=False),
    Column("recipient", String(64), nullable=False),
    Column("template", String(64), nullable=False),
    Column("recorded_at", UtcDateTime, nullable=False),
    Index("ix_notices_job_key", "job_key", "claim_id", unique=True),
    Index("ix_notices_claim_id", "claim_id"),
    Index("ix_notices_recorded_at", "recorded_at"),
)

claim_events = Table(
    "claim_events",
    metadata,
    Column("sequence", BigId, primary_key=True),
    Column("claim_id", String(CLAIM_ID_LENGTH), nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("event", String(32), nullable=False),
    Column("detail", Text, nullable=False),
    Index("ix_claim_events_claim_id", "claim_id", "sequence"),
    Index("ix_claim_events_at", "at"),
)
