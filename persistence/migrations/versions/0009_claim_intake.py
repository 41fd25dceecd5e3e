"""Claims that come as a file: deadline, content, batch, and the file itself, encrypted."""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.indexes import create_index, drop_index
from persistence.tables.types import UtcDateTime

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

BEFORE = "'SUBMITTING', 'FAILED', 'WAITING', 'IN_REVIEW', 'ACCEPTED', 'CANCELLED', 'WRITTEN_OFF'"
AFTER = f"'RECEIVED', {BEFORE}"


def upgrade() -> None:
    """Widen the claims, create the table of files."""
    create_index("ix_claims_created_at", "claims", ["created_at"])
    with op.batch_alter_table("claims") as claims:
        claims.add_column(sa.Column("deadline", UtcDateTime()))
        claims.add_column(sa.Column("content_hash", sa.String(64)))
        claims.add_column(sa.Column("batch_number", sa.String(32)))
        claims.drop_constraint(op.f("ck_claims_state"), type_="check")
        claims.create_check_constraint(op.f("ck_claims_state"), sa.text(f"state IN ({AFTER})"))
    op.create_table(
        "claim_payloads",
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("ciphertext", sa.Text(), nullable=False),
        sa.Column("stored_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("claim_id", name="pk_claim_payloads"),
    )
    op.create_index("ix_claim_payloads_stored_at", "claim_payloads", ["stored_at"])


def downgrade() -> None:
    """Take both back; a claim that was only received counts as on its way."""
    drop_index("ix_claims_created_at", "claims")
    op.drop_table("claim_payloads")
    op.execute("UPDATE claims SET state = 'SUBMITTING' WHERE state = 'RECEIVED'")
    with op.batch_alter_table("claims") as claims:
        claims.drop_constraint(op.f("ck_claims_state"), type_="check")
        claims.create_check_constraint(op.f("ck_claims_state"), sa.text(f"state IN ({BEFORE})"))
        for name in ("batch_number", "content_hash", "deadline"):
            claims.drop_column(name)
