"""The policies that people adopted, one after the other: the newest row says which is in force."""

from sqlalchemy import Column, String, Table, Text, UniqueConstraint

from persistence.tables.base import metadata
from persistence.tables.types import BigId, UtcDateTime

adopted_policies = Table(
    "adopted_policies",
    metadata,
    Column("adoption_id", BigId, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("policy", String(96)),  # version and fingerprint; empty: the settings' own policy is in force
    Column("document", Text),
    Column("document_hash", String(64)),
    Column("replaces", BigId, nullable=False),  # the row before, 0 before the first: of two, one comes first
    Column("returns_to", BigId),  # what an undo restores: a row, 0 for the settings' own, empty for nothing
    Column("ordered_by", String(256), nullable=False),
    Column("reason", Text, nullable=False),
    UniqueConstraint("replaces", name="uq_adopted_policies_replaces"),
)
