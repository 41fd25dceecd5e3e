"""RN-IdempotencyRecord's table, columns and four indexes, by the names the rule gives them."""

from sqlalchemy import CheckConstraint, Column, Index, Integer, String, Table, Text

from persistence.tables.base import metadata
from persistence.tables.types import BigId, UtcDateTime

STATUSES = ("PENDING", "SUCCESS", "FAILED")

idempotency_records = Table(
    "idempotency_records",
    metadata,
    Column("id", BigId, primary_key=True),
    Column("idempotency_key", String(255), nullable=False),
    Column("process_instance_id", String(64), nullable=False),
    Column("activity_id", String(255), nullable=False),
    Column("operation_name", String(100), nullable=False),
    Column("status", String(8), nullable=False),
    Column("result_data", Text),
    Column("error_message", Text),
    Column("retry_count", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("lease_expires_at", UtcDateTime, nullable=False),
    CheckConstraint("status IN ('" + "', '".join(STATUSES) + "')", name="status"),
    Index("idx_idempotency_key", "idempotency_key", unique=True),
    Index("idx_process_instance", "process_instance_id"),
    Index("idx_created_at", "created_at"),
    Index("idx_expires_at", "expires_at"),
)
