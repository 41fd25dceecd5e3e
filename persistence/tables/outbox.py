"""Facts on their way out, and who may carry them at the moment."""

from sqlalchemy import Column, Index, String, Table, Text, text

from persistence.tables.base import CLAIM_ID_LENGTH, metadata
from persistence.tables.types import BigId, UtcDateTime

UNPUBLISHED = text("published_at IS NULL")
PUBLISHED = text("published_at IS NOT NULL")
OF_A_PAYER = text("type = 'PayerStateChangedEvent'")

outbox = Table(
    "outbox",
    metadata,
    Column("position", BigId, primary_key=True),
    Column("event_id", String(36), nullable=False),
    Column("claim_id", String(CLAIM_ID_LENGTH), nullable=False),
    Column("type", String(64), nullable=False),
    Column("payload", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("published_at", UtcDateTime),
    Column("set_aside_at", UtcDateTime),
    Index("ix_outbox_unpublished", "position", sqlite_where=UNPUBLISHED, postgresql_where=UNPUBLISHED),
    Index("ix_outbox_published_at", "published_at", sqlite_where=PUBLISHED, postgresql_where=PUBLISHED),
    Index("ix_outbox_payer_changes", "created_at", sqlite_where=OF_A_PAYER, postgresql_where=OF_A_PAYER),
)

leases = Table(
    "leases",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("holder", String(64), nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
)
