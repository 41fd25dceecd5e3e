"""Payers: their breaker and pace, the claims that wait for them, the sends that are under way."""

from sqlalchemy import Boolean, Column, Index, Integer, String, Table, Text

from persistence.tables.base import CLAIM_ID_LENGTH, metadata
from persistence.tables.types import UtcDateTime

PAYER_ID_LENGTH = 64

payer_status = Table(
    "payer_status",
    metadata,
    Column("payer_id", String(PAYER_ID_LENGTH), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("openings", Integer, nullable=False),
    Column("opened_at", UtcDateTime),
    Column("next_try_at", UtcDateTime),
    Column("not_before", UtcDateTime),
    Column("next_slot_at", UtcDateTime),
    Column("next_wait_slot_at", UtcDateTime),
    Column("slots_until", UtcDateTime),
    Column("paced_until", UtcDateTime),
    Column("proven", Boolean, nullable=False),
    Column("probed_at", UtcDateTime),
    Column("probe_up", Boolean),
    Column("changed_at", UtcDateTime, nullable=False),
)

payer_waits = Table(
    "payer_waits",
    metadata,
    Column("claim_id", String(CLAIM_ID_LENGTH), primary_key=True),
    Column("payer_id", String(PAYER_ID_LENGTH), nullable=False),
    Column("since", UtcDateTime, nullable=False),
    Column("until", UtcDateTime, nullable=False),
    Column("slot_at", UtcDateTime),
    Column("deadline", UtcDateTime),
    Column("woken_at", UtcDateTime),
    Index("ix_payer_waits_slot", "payer_id", "slot_at"),
    Index("ix_payer_waits_deadline", "payer_id", "deadline", "since", "claim_id"),
    Index("ix_payer_waits_until", "until"),
)

payer_sends = Table(
    "payer_sends",
    metadata,
    Column("claim_id", String(CLAIM_ID_LENGTH), primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("payer_id", String(PAYER_ID_LENGTH), nullable=False),
    Column("until", UtcDateTime, nullable=False),
    Index("ix_payer_sends_payer_id", "payer_id", "until"),
    Index("ix_payer_sends_until", "until"),
)
