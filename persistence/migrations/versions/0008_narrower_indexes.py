"""Fewer and narrower indexes: what a decision writes does not grow with what is stored."""

from alembic import op

from persistence.migrations.indexes import create_index, drop_index

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop what another index or constraint already does."""
    drop_index("ix_retry_decisions_claim_id", "retry_decisions")
    create_index("ix_audit_events_at", "audit_events", ["at"])
    with op.batch_alter_table("outbox") as outbox:
        outbox.drop_constraint("uq_outbox_event_id", type_="unique")


def downgrade() -> None:
    """Put them back."""
    create_index("ix_audit_events_at", "audit_events", ["at", "claim_id", "sequence"])
    create_index("ix_retry_decisions_claim_id", "retry_decisions", ["claim_id", "decided_at"])
    with op.batch_alter_table("outbox") as outbox:
        outbox.create_unique_constraint("uq_outbox_event_id", ["event_id"])
