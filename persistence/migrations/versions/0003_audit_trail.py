"""The audit trail with its daily anchors and the policies of its decisions, append-only."""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.triggers import DROP_POSTGRES_GUARD, POSTGRES_GUARD, guards
from persistence.tables.types import BigId, UtcDateTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

GUARDED = ("audit_events", "audit_anchors", "policies")


def upgrade() -> None:
    """Create the tables, then lock them against change."""
    op.create_table(
        "audit_events",
        sa.Column("event_id", BigId, nullable=False),
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("event", sa.String(32), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("job_key", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("previous_hash", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("event_id", name="pk_audit_events"),
        sa.UniqueConstraint("claim_id", "sequence", name="uq_audit_events_sequence"),
    )
    op.create_index("ix_audit_events_at", "audit_events", ["at", "claim_id", "sequence"])
    op.create_table(
        "audit_anchors",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("previous_hash", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("anchored_at", UtcDateTime(), nullable=False),
        sa.Column("pruned_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("day", name="pk_audit_anchors"),
    )
    op.create_table(
        "audit_permits",
        sa.Column("permit", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("permit", name="pk_audit_permits"),
    )
    op.create_table(
        "policies",
        sa.Column("policy_version", sa.String(160), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("first_used_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("policy_version", name="pk_policies"),
    )
    _guard()


def _guard() -> None:
    dialect = op.get_bind().dialect.name
    if dialect == "postgresql":
        op.execute(POSTGRES_GUARD)
    for table in GUARDED:
        for statement in guards(dialect, table):
            op.execute(statement)


def downgrade() -> None:
    """Drop them again; their triggers go with them."""
    for table in (*GUARDED, "audit_permits"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute(DROP_POSTGRES_GUARD)
