"""What senders of mail share: whose lane is whose, how far each pace reaches, what is under way."""

from sqlalchemy import Column, Index, Integer, String, Table

from persistence.tables.base import metadata
from persistence.tables.types import UtcDateTime

COMPANY_ID_LENGTH = 64
PERMIT_ID_LENGTH = 64
WORKER_LENGTH = 64

mail_lanes = Table(
    "mail_lanes",
    metadata,
    Column("lane", String(8), primary_key=True),
    Column("company_id", String(COMPANY_ID_LENGTH), nullable=False),
    Column("used_at", UtcDateTime, nullable=False),
    Index("ix_mail_lanes_company_id", "company_id"),
)

mail_meters = Table(
    "mail_meters",
    metadata,
    Column("scope", String(COMPANY_ID_LENGTH + 8), primary_key=True),
    Column("paced_until", UtcDateTime, nullable=False),
    Index("ix_mail_meters_paced_until", "paced_until"),
)

tenant_figures = Table(
    "tenant_figures",
    metadata,
    Column("worker", String(WORKER_LENGTH), primary_key=True),
    Column("company_id", String(COMPANY_ID_LENGTH), primary_key=True),
    Column("last_processed_at", UtcDateTime),
    Column("rounds_without_processing", Integer, nullable=False),
    Column("current_priority", Integer, nullable=False),
    Column("total_processed", Integer, nullable=False),
    Column("consecutive_batch_count", Integer, nullable=False),
    Column("noted_at", UtcDateTime, nullable=False),
    Index("ix_tenant_figures_noted_at", "noted_at"),
)

mail_permits = Table(  # for workers of the version before; what is being sent is in `mails`
    "mail_permits",
    metadata,
    Column("permit_id", String(PERMIT_ID_LENGTH), primary_key=True),
    Column("company_id", String(COMPANY_ID_LENGTH), nullable=False),
    Column("until", UtcDateTime, nullable=False),
    Index("ix_mail_permits_until", "until"),
)
