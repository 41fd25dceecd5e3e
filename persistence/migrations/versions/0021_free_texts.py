"""What payers and models wrote in their own words, encrypted, for as long as people need it."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import BigId, UtcDateTime

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A table that workers of the version before do not know."""
    op.create_table(
        "claim_texts",
        sa.Column("text_id", BigId, nullable=False),
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("ciphertext", sa.Text(), nullable=False),
        sa.Column("noted_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("text_id", name="pk_claim_texts"),
    )
    op.create_index("ix_claim_texts_claim_id", "claim_texts", ["claim_id", "text_id"])
    op.create_index("ix_claim_texts_noted_at", "claim_texts", ["noted_at"])


def downgrade() -> None:
    """Take it back."""
    op.drop_table("claim_texts")
