"""Retry decisions: each is an attempt of RN-BIL-005's history, and what its job was answered."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from persistence.tables.base import CLAIM_ID_LENGTH, metadata
from persistence.tables.types import BigId, UtcDateTime

HAS_NEXT = text("next_retry_time IS NOT NULL")

retry_decisions = Table(
    "retry_decisions",
    metadata,
    Column("decision_id", BigId, primary_key=True),
    Column("claim_id", String(CLAIM_ID_LENGTH), nullable=False),
    Column("retry_count", Integer, nullable=False),
    Column("process_instance_key", BigInteger, nullable=False),
    Column("round", Integer, nullable=False),
    Column("job_key", BigInteger, nullable=False),
    Column("attempt_number", Integer, nullable=False),
    Column("submission_error", Text, nullable=False),
    Column("error_classification", String(24), nullable=False),
    Column("error_category", String(64), nullable=False),
    Column("max_retries", Integer, nullable=False),
    Column("backoff_minutes", Integer, nullable=False),
    Column("should_retry", Boolean, nullable=False),
    Column("retry_reason", Text, nullable=False),
    Column("policy_version", String(96), nullable=False),
    Column("decided_at", UtcDateTime, nullable=False),
    Column("next_retry_time", UtcDateTime),
    Column("audit_sequence", Integer, nullable=False),
    Column("result", JSON, nullable=False),
    Column("deadline", UtcDateTime),
    Column("cause", String(16)),
    UniqueConstraint(
        "claim_id", "retry_count", "process_instance_key", "round", name="uq_retry_decisions_round"
    ),
    Index("ix_retry_decisions_decided_at", "decided_at"),
    Index("ix_retry_decisions_newest", "claim_id", "decision_id"),
    Index(
        "ix_retry_decisions_next_retry_time",
        "next_retry_time",
        sqlite_where=HAS_NEXT,
        postgresql_where=HAS_NEXT,
    ),
)
