"""Claims and mails that were found past their time, until they go on."""

from sqlalchemy import Column, Integer, String, Table

from persistence.tables.base import CLAIM_ID_LENGTH, metadata
from persistence.tables.types import UtcDateTime

standing_still = Table(
    "standing_still",
    metadata,
    Column("kind", String(8), primary_key=True),
    Column("subject", String(CLAIM_ID_LENGTH), primary_key=True),
    Column("since", UtcDateTime, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
    Column("confirmed_at", UtcDateTime),
    Column("healed_at", UtcDateTime, key="nudged_at"),
    Column("heals", Integer, key="nudges", nullable=False),
)
