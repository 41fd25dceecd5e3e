"""The outbox, and the lease that names its one relay."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import BigId, UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "outbox",
        sa.Column("position", BigId, nullable=False),
        sa.Column("event_id", sa.String(36), nullable=False),
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("type", sa.String(64), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("published_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("position", name="pk_outbox"),
        sa.UniqueConstraint("event_id", name="uq_outbox_event_id"),
    )
    _partial_index("ix_outbox_unpublished", "position", "published_at IS NULL")
    _partial_index("ix_outbox_published_at", "published_at", "published_at IS NOT NULL")
    op.create_table(
        "leases",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("holder", sa.String(64), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )


def _partial_index(name: str, column: str, condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, "outbox", [column], sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    """Drop them again."""
    op.drop_table("leases")
    op.drop_table("outbox")
