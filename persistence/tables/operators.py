"""What people ordered: who, what, about which claim or payer, and why."""

from sqlalchemy import Column, Index, String, Table, Text

from persistence.tables.base import CLAIM_ID_LENGTH, metadata
from persistence.tables.payers import PAYER_ID_LENGTH
from persistence.tables.types import BigId, UtcDateTime

operator_orders = Table(
    "operator_orders",
    metadata,
    Column("order_id", BigId, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("action", String(64), nullable=False),
    Column("ordered_by", String(256), nullable=False),
    Column("reason", Text, nullable=False),
    Column("claim_id", String(CLAIM_ID_LENGTH), nullable=False),  # empty where it is about no claim
    Column("payer_id", String(PAYER_ID_LENGTH), nullable=False),  # empty where it is about no payer
    Column("refused_at", UtcDateTime),
    Index("ix_operator_orders_claim_id", "claim_id", "order_id"),
    Index("ix_operator_orders_payer_id", "payer_id", "order_id"),
    Index("ix_operator_orders_at", "at"),
)
