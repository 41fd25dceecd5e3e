"""What must outlive retention: claims on legal hold, and counts of errors without any claim in them."""

from sqlalchemy import BigInteger, Column, Date, String, Table, Text

from persistence.tables.base import CLAIM_ID_LENGTH, metadata
from persistence.tables.types import UtcDateTime

legal_holds = Table(
    "legal_holds",
    metadata,
    Column("claim_id", String(CLAIM_ID_LENGTH), primary_key=True),
    Column("reason", Text, nullable=False),
    Column("placed_at", UtcDateTime, nullable=False),
    Column("placed_by", String(256)),
)

error_statistics = Table(
    "error_statistics",
    metadata,
    Column("day", Date, primary_key=True),
    Column("error_classification", String(24), primary_key=True),
    Column("error_category", String(64), primary_key=True),
    Column("decisions", BigInteger, nullable=False),
)
