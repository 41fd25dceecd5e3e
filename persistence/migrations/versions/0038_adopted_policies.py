"""Policies that people adopted, append-only: the newest row says which is in force."""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.triggers import guards
from persistence.tables.types import BigId, UtcDateTime

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

TABLE = "adopted_policies"


def upgrade() -> None:
    """A table that nobody knew before; workers of the version before go on by their settings' policy."""
    op.create_table(
        TABLE,
        sa.Column("adoption_id", BigId, nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("policy", sa.String(96)),
        sa.Column("document", sa.Text()),
        sa.Column("document_hash", sa.String(64)),
        sa.Column("replaces", BigId, nullable=False),
        sa.Column("returns_to", BigId),
        sa.Column("ordered_by", sa.String(256), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("adoption_id", name="pk_adopted_policies"),
        sa.UniqueConstraint("replaces", name="uq_adopted_policies_replaces"),
    )
    for statement in guards(op.get_bind().dialect.name, TABLE):
        op.execute(statement)


def downgrade() -> None:
    """Take it back; its triggers go with it."""
    op.drop_table(TABLE)
