"""The tables; every name and constraint is explicit, so that migrations can speak of them."""

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from persistence.types import UtcDateTime

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

CLAIM_STATES = (
    "SUBMITTING",
    "FAILED",
    "WAITING",
    "IN_REVIEW",
    "ACCEPTED",
    "CANCELLED",
    "WRITTEN_OFF",
)

claims = Table(
    "claims",
    metadata,
    Column("claim_id", String(128), primary_key=True),
    Column("payer_id", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("retry_count", Integer, nullable=False, default=0),
    Column("next_retry_time", UtcDateTime),
    Column("protocol_number", String(64)),
    Column("reason", Text),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    CheckConstraint("state IN ('" + "', '".join(CLAIM_STATES) + "')", name="state"),
    Index("ix_claims_state", "state", "next_retry_time"),
)

submission_attempts = Table(
    "submission_attempts",
    metadata,
    Column("claim_id", String(128), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("job_key", BigInteger, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Column("outcome", String(24)),
    Column("result", JSON),
    Index("ix_submission_attempts_job_key", "job_key"),
)

retry_decisions = Table(
    "retry_decisions",
    metadata,
    Column("job_key", BigInteger, primary_key=True, autoincrement=False),
    Column("claim_id", String(128), nullable=False),
    Column("retry_count", Integer, nullable=False),
    Column("policy_version", String(64), nullable=False),
    Column("decided_at", UtcDateTime, nullable=False),
    Column("next_retry_time", UtcDateTime),
    Column("result", JSON, nullable=False),
    Index("ix_retry_decisions_claim_id", "claim_id", "decided_at"),
)

reviews = Table(
    "reviews",
    metadata,
    Column("review_id", Integer, primary_key=True),
    Column("claim_id", String(128), nullable=False),
    Column("job_key", BigInteger, nullable=False),
    Column("round", Integer, nullable=False),
    Column("reason", String(64), nullable=False),
    Column("detail", Text),
    Column("opened_at", UtcDateTime, nullable=False),
    UniqueConstraint("job_key", name="uq_reviews_job_key"),
    Index("ix_reviews_claim_id", "claim_id"),
)

notices = Table(
    "notices",
    metadata,
    Column("notice_id", Integer, primary_key=True),
    Column("claim_id", String(128), nullable=False),
    Column("job_key", BigInteger, nullable=False),
    Column("recipient", String(64), nullable=False),
    Column("template", String(64), nullable=False),
    Column("recorded_at", UtcDateTime, nullable=False),
    UniqueConstraint("job_key", name="uq_notices_job_key"),
    Index("ix_notices_claim_id", "claim_id"),
)

claim_events = Table(
    "claim_events",
    metadata,
    Column("sequence", Integer, primary_key=True),
    Column("claim_id", String(128), nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("event", String(32), nullable=False),
    Column("detail", Text, nullable=False),
    Index("ix_claim_events_claim_id", "claim_id", "sequence"),
)
