"""Orders about many claims, claim by claim; and who has taken a review upon themselves."""

from sqlalchemy import Column, Index, Integer, String, Table, Text, text

from persistence.tables.base import CLAIM_ID_LENGTH, metadata
from persistence.tables.people import LOGIN_LENGTH
from persistence.tables.types import BigId, UtcDateTime

IS_GOING_ON = text("state IN ('PROPOSED', 'RUNNING')")
IS_LEFT = text("state IN ('PENDING', 'TAKEN')")

bulk_orders = Table(
    "bulk_orders",
    metadata,
    Column("bulk_id", BigId, primary_key=True),
    Column("action", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("selection", Text, nullable=False),  # which claims, as the address of their list
    Column("number", Integer, nullable=False),
    Column("ordered_by", String(256), nullable=False),
    Column("login", String(LOGIN_LENGTH), nullable=False),  # who may not confirm it
    Column("reason", Text, nullable=False),
    Column("ordered_at", UtcDateTime, nullable=False),
    Column("confirmed_by", String(256)),
    Column("ended_at", UtcDateTime),
    Index("ix_bulk_orders_state", "bulk_id", sqlite_where=IS_GOING_ON, postgresql_where=IS_GOING_ON),
    Index("ix_bulk_orders_ordered_at", "ordered_at"),
)

bulk_items = Table(
    "bulk_items",
    metadata,
    Column("bulk_id", BigId, primary_key=True, autoincrement=False),
    Column("claim_id", String(CLAIM_ID_LENGTH), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("payer_id", String(64), nullable=False),
    Column("review_id", BigId),  # the review that it is about; none where the claim stands on an incident
    Column("state", String(16), nullable=False),
    Column("why", String(32)),
    Column("due_at", UtcDateTime, nullable=False),
    Column("taken_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    Index("ix_bulk_items_left", "bulk_id", "due_at", sqlite_where=IS_LEFT, postgresql_where=IS_LEFT),
    Index("ix_bulk_items_claim_id", "claim_id"),
    Index("ix_bulk_items_due_at", "due_at"),
)

review_assignees = Table(
    "review_assignees",
    metadata,
    Column("review_id", BigId, primary_key=True, autoincrement=False),
    Column("claim_id", String(CLAIM_ID_LENGTH), nullable=False),
    Column("login", String(LOGIN_LENGTH), nullable=False),
    Column("assigned_at", UtcDateTime, nullable=False),
    Index("ix_review_assignees_assigned_at", "assigned_at"),
)
