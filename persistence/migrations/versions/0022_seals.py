"""Keyed seals of audit events; anchors that name their events by number and are signed."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

COLUMNS = (
    ("audit_events", "seal", sa.String(32)),
    ("audit_events", "seal_key", sa.String(32)),
    ("audit_anchors", "first_event", sa.BigInteger()),
    ("audit_anchors", "last_event", sa.BigInteger()),
    ("audit_anchors", "unsealed", sa.Integer()),
    ("audit_anchors", "signature", sa.String(128)),
    ("audit_anchors", "signed_with", sa.String(32)),
)


def upgrade() -> None:
    """Columns that old workers leave empty; what they write is told apart by that."""
    for table, name, kind in COLUMNS:
        op.add_column(table, sa.Column(name, kind))


def downgrade() -> None:
    """Take them away again."""
    for table, name, _ in reversed(COLUMNS):
        op.drop_column(table, name)
