"""RN-IdempotencyRecord: what each operation came to, so that none runs twice."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import BigId, UtcDateTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table with the rule's four indexes."""
    op.create_table(
        "idempotency_records",
        sa.Column("id", BigId, nullable=False),
        sa.Column("idempotency_key", sa.String(255), nullable=False),
        sa.Column("process_instance_id", sa.String(64), nullable=False),
        sa.Column("activity_id", sa.String(255), nullable=False),
        sa.Column("operation_name", sa.String(100), nullable=False),
        sa.Column("status", sa.String(8), nullable=False),
        sa.Column("result_data", sa.Text()),
        sa.Column("error_message", sa.Text()),
        sa.Column("retry_count", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("lease_expires_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint(
            "status IN ('PENDING', 'SUCCESS', 'FAILED')", name=op.f("ck_idempotency_records_status")
        ),
        sa.PrimaryKeyConstraint("id", name="pk_idempotency_records"),
    )
    op.create_index("idx_idempotency_key", "idempotency_records", ["idempotency_key"], unique=True)
    op.create_index("idx_process_instance", "idempotency_records", ["process_instance_id"])
    op.create_index("idx_created_at", "idempotency_records", ["created_at"])
    op.create_index("idx_expires_at", "idempotency_records", ["expires_at"])


def downgrade() -> None:
    """Drop it again."""
    op.drop_table("idempotency_records")
