"""Mails that are being sent, counted fast; and where the turns of companies stand, as workers have them."""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.indexes import create_index, drop_index
from persistence.tables.types import UtcDateTime

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

SENDING = "ix_mails_sending"


def upgrade() -> None:
    """An index that workers of the version before keep up too, and a table that nobody knew."""
    being_sent = "state = 'PENDING' AND sending_until IS NOT NULL"
    create_index(SENDING, "mails", ["sending_until", "company_id"], where=being_sent)
    op.create_table(
        "tenant_figures",
        sa.Column("worker", sa.String(64), nullable=False),
        sa.Column("company_id", sa.String(64), nullable=False),
        sa.Column("last_processed_at", UtcDateTime()),
        sa.Column("rounds_without_processing", sa.Integer(), nullable=False),
        sa.Column("current_priority", sa.Integer(), nullable=False),
        sa.Column("total_processed", sa.Integer(), nullable=False),
        sa.Column("consecutive_batch_count", sa.Integer(), nullable=False),
        sa.Column("noted_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("worker", "company_id", name="pk_tenant_figures"),
    )
    op.create_index("ix_tenant_figures_noted_at", "tenant_figures", ["noted_at"])


def downgrade() -> None:
    """Take both back."""
    op.drop_table("tenant_figures")
    drop_index(SENDING, "mails")
