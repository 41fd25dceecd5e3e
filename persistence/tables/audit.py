"""The audit trail: a hash chain per claim, an anchor per day, and the policies decisions were made with."""

from sqlalchemy import BigInteger, Column, Date, Index, Integer, String, Table, Text, UniqueConstraint

from persistence.tables.base import CLAIM_ID_LENGTH, metadata
from persistence.tables.types import BigId, UtcDateTime

HASH_LENGTH = 64

audit_events = Table(
    "audit_events",
    metadata,
    Column("event_id", BigId, primary_key=True),
    Column("claim_id", String(CLAIM_ID_LENGTH), nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("event", String(32), nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("job_key", BigInteger, nullable=False),
    Column("data", Text, nullable=False),
    Column("previous_hash", String(HASH_LENGTH), nullable=False),
    Column("hash", String(HASH_LENGTH), nullable=False),
    Column("seal", String(32)),  # empty in rows of earlier versions
    Column("seal_key", String(32)),
    UniqueConstraint("claim_id", "sequence", name="uq_audit_events_sequence"),
    Index("ix_audit_events_at", "at"),
)

audit_anchors = Table(
    "audit_anchors",
    metadata,
    Column("day", Date, primary_key=True),
    Column("events", Integer, nullable=False),
    Column("digest", String(HASH_LENGTH), nullable=False),
    Column("previous_hash", String(HASH_LENGTH), nullable=False),
    Column("hash", String(HASH_LENGTH), nullable=False),
    Column("anchored_at", UtcDateTime, nullable=False),
    Column("pruned_at", UtcDateTime),
    Column("first_event", BigInteger),  # from here on empty in rows of earlier versions
    Column("last_event", BigInteger),
    Column("unsealed", Integer),
    Column("signature", String(128)),
    Column("signed_with", String(32)),
    Column("kind", String(16)),  # empty in daily anchors
)

audit_permits = Table(
    "audit_permits",
    metadata,
    Column("permit", String(32), primary_key=True),
)

policies = Table(
    "policies",
    metadata,
    Column("policy_version", String(160), primary_key=True),
    Column("document", Text, nullable=False),
    Column("first_used_at", UtcDateTime, nullable=False),
)
