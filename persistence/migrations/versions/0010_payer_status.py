"""Payers: breaker and pace, waiting claims, sends under way."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import UtcDateTime

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the three tables and their indexes."""
    _create_status()
    _create_waits()
    _create_sends()


def _create_status() -> None:
    op.create_table(
        "payer_status",
        sa.Column("payer_id", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("openings", sa.Integer(), nullable=False),
        sa.Column("opened_at", UtcDateTime()),
        sa.Column("next_try_at", UtcDateTime()),
        sa.Column("not_before", UtcDateTime()),
        sa.Column("next_slot_at", UtcDateTime()),
        sa.Column("next_wait_slot_at", UtcDateTime()),
        sa.Column("paced_until", UtcDateTime()),
        sa.Column("proven", sa.Boolean(), nullable=False),
        sa.Column("probed_at", UtcDateTime()),
        sa.Column("probe_up", sa.Boolean()),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("payer_id", name="pk_payer_status"),
    )


def _create_waits() -> None:
    op.create_table(
        "payer_waits",
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("payer_id", sa.String(64), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.Column("slot_at", UtcDateTime()),
        sa.Column("deadline", UtcDateTime()),
        sa.Column("woken_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("claim_id", name="pk_payer_waits"),
    )
    op.create_index("ix_payer_waits_slot", "payer_waits", ["payer_id", "slot_at"])
    op.create_index("ix_payer_waits_deadline", "payer_waits", ["payer_id", "deadline"])
    op.create_index("ix_payer_waits_until", "payer_waits", ["until"])


def _create_sends() -> None:
    op.create_table(
        "payer_sends",
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("payer_id", sa.String(64), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("claim_id", "attempt", name="pk_payer_sends"),
    )
    op.create_index("ix_payer_sends_payer_id", "payer_sends", ["payer_id", "until"])
    op.create_index("ix_payer_sends_until", "payer_sends", ["until"])


def downgrade() -> None:
    """Drop them again."""
    for table in ("payer_sends", "payer_waits", "payer_status"):
        op.drop_table(table)
