"""What people order is kept with who and why; an event that cannot be read is set aside.

Workers of the version before leave the new columns empty and go on.
"""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import BigId, UtcDateTime

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_operator_orders_claim_id": ["claim_id", "order_id"],
    "ix_operator_orders_payer_id": ["payer_id", "order_id"],
    "ix_operator_orders_at": ["at"],
}


def upgrade() -> None:
    """One table, and columns that may be empty."""
    op.create_table(
        "operator_orders",
        sa.Column("order_id", BigId, nullable=False),
        sa.Column("at", UtcDateTime, nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("ordered_by", sa.String(256), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("payer_id", sa.String(64), nullable=False),
        sa.Column("refused_at", UtcDateTime),
        sa.PrimaryKeyConstraint("order_id", name="pk_operator_orders"),
    )
    for name, columns in INDEXES.items():
        op.create_index(name, "operator_orders", columns)
    op.add_column("legal_holds", sa.Column("placed_by", sa.String(256)))
    op.add_column("outbox", sa.Column("set_aside_at", UtcDateTime))


def downgrade() -> None:
    """Take all of it back."""
    op.drop_column("outbox", "set_aside_at")
    op.drop_column("legal_holds", "placed_by")
    op.drop_table("operator_orders")
