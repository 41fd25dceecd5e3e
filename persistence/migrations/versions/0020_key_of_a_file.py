"""Which key a claim's file is sealed with, by id and fingerprint."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A column that old workers leave empty: then the file itself says its key's id."""
    op.add_column("claim_payloads", sa.Column("key_name", sa.String(32)))
    op.create_index("ix_claim_payloads_key_name", "claim_payloads", ["key_name", "claim_id"])


def downgrade() -> None:
    """Take it back."""
    op.drop_index("ix_claim_payloads_key_name", "claim_payloads")
    op.drop_column("claim_payloads", "key_name")
