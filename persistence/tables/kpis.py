"""What KPIs are counted from, a row per claim, and what they came to, a row per period."""

from sqlalchemy import BigInteger, Boolean, Column, Date, Index, Integer, String, Table

from persistence.tables.base import CLAIM_ID_LENGTH, metadata
from persistence.tables.payers import PAYER_ID_LENGTH
from persistence.tables.types import UtcDateTime

first_rounds = Table(
    "first_rounds",
    metadata,
    Column("claim_id", String(CLAIM_ID_LENGTH), primary_key=True),
    Column("payer_id", String(PAYER_ID_LENGTH)),  # empty: another process sends it
    Column("first_failed_at", UtcDateTime, nullable=False),
    Column("is_retried", Boolean, nullable=False),
    Column("given_up", String(16)),
    Column("given_up_at", UtcDateTime),
    Column("accepted_at", UtcDateTime),
    Column("retries_sent", Integer),
    Column("since_failure_us", BigInteger),
    Column("since_send_us", BigInteger),
    Index(  # all that is counted or summed: a whole history is counted without its rows
        "ix_first_rounds_first_failed_at",
        *("first_failed_at", "payer_id", "is_retried", "given_up", "accepted_at"),
        *("retries_sent", "since_failure_us", "since_send_us"),
    ),
    Index("ix_first_rounds_payer_id", "payer_id", "first_failed_at"),
)

kpi_snapshots = Table(
    "kpi_snapshots",
    metadata,
    Column("kpi", String(32), primary_key=True),
    Column("frequency", String(8), primary_key=True),
    Column("first_day", Date, primary_key=True),
    Column("payer_id", String(PAYER_ID_LENGTH), primary_key=True),  # an empty text: all of them
    Column("numerator", BigInteger, nullable=False),
    Column("denominator", BigInteger, nullable=False),
    Column("claims", BigInteger, nullable=False),
    Column("running", BigInteger, nullable=False),
    Column("by_deadline", BigInteger, nullable=False),
    Column("taken_at", UtcDateTime, nullable=False),
    Index("ix_kpi_snapshots_first_day", "payer_id", "frequency", "first_day"),
)
