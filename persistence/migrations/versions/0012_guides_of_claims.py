"""The guides of claims as keyed hashes, and of which content they are."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A table and a column that old workers leave empty."""
    op.create_table(
        "claim_guides",
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("guide_hash", sa.String(32), nullable=False),
        sa.Column("payer_id", sa.String(64), nullable=False),
        sa.Column("key_id", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("claim_id", "guide_hash", name="pk_claim_guides"),
    )
    op.create_index("ix_claim_guides_guide_hash", "claim_guides", ["payer_id", "key_id", "guide_hash"])
    op.add_column("claims", sa.Column("guides_of", sa.String(64)))


def downgrade() -> None:
    """Take both back."""
    op.drop_column("claims", "guides_of")
    op.drop_table("claim_guides")
