"""Orders about many claims, claim by claim; who has which review; filters that people keep."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import BigId, UtcDateTime

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Tables that nobody knew before."""
    op.create_table(
        "bulk_orders",
        sa.Column("bulk_id", BigId, nullable=False),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("selection", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("ordered_by", sa.String(256), nullable=False),
        sa.Column("login", sa.String(64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("ordered_at", UtcDateTime(), nullable=False),
        sa.Column("confirmed_by", sa.String(256)),
        sa.Column("ended_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("bulk_id", name="pk_bulk_orders"),
    )
    going_on = sa.text("state IN ('PROPOSED', 'RUNNING')")
    op.create_index(
        "ix_bulk_orders_state", "bulk_orders", ["bulk_id"], sqlite_where=going_on, postgresql_where=going_on
    )
    op.create_index("ix_bulk_orders_ordered_at", "bulk_orders", ["ordered_at"])
    _create_items()
    op.create_table(
        "review_assignees",
        sa.Column("review_id", BigId, nullable=False, autoincrement=False),
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("login", sa.String(64), nullable=False),
        sa.Column("assigned_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("review_id", name="pk_review_assignees"),
    )
    op.create_index("ix_review_assignees_assigned_at", "review_assignees", ["assigned_at"])
    op.create_table(
        "saved_filters",
        sa.Column("filter_id", BigId, nullable=False),
        sa.Column("person_id", BigId, nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("kept_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("filter_id", name="pk_saved_filters"),
        sa.UniqueConstraint("person_id", "name", name="uq_saved_filters_name"),
    )


def _create_items() -> None:
    op.create_table(
        "bulk_items",
        sa.Column("bulk_id", BigId, nullable=False, autoincrement=False),
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("payer_id", sa.String(64), nullable=False),
        sa.Column("review_id", BigId),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("why", sa.String(32)),
        sa.Column("due_at", UtcDateTime(), nullable=False),
        sa.Column("taken_at", UtcDateTime()),
        sa.Column("ended_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("bulk_id", "claim_id", name="pk_bulk_items"),
    )
    left = sa.text("state IN ('PENDING', 'TAKEN')")
    op.create_index(
        "ix_bulk_items_left", "bulk_items", ["bulk_id", "due_at"], sqlite_where=left, postgresql_where=left
    )
    op.create_index("ix_bulk_items_claim_id", "bulk_items", ["claim_id"])
    op.create_index("ix_bulk_items_due_at", "bulk_items", ["due_at"])


def downgrade() -> None:
    """Take all of it back."""
    for table in ("saved_filters", "review_assignees", "bulk_items", "bulk_orders"):
        op.drop_table(table)
