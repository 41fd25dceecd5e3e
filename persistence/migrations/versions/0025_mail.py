"""Mail on its way, and mail that died."""

import sqlalchemy as sa
from alembic import op

from persistence.tables.types import UtcDateTime

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

DEAD_LETTER_INDEXES = {
    "ix_dead_letters_moved_at": ["moved_at", "outbox_id"],
    "ix_dead_letters_code": ["last_failure_code", "moved_at", "outbox_id"],
    "ix_dead_letters_company_id": ["company_id", "moved_at", "outbox_id"],
    "ix_dead_letters_expires_at": ["expires_at"],
}


def upgrade() -> None:
    """Two tables that workers of the version before do not know."""
    _create_mails()
    _create_dead_letters()


def _create_mails() -> None:
    op.create_table(
        "mails",
        sa.Column("outbox_id", sa.String(36), nullable=False),
        sa.Column("company_id", sa.String(64), nullable=False),
        sa.Column("claim_id", sa.String(128), nullable=False),
        sa.Column("lane", sa.String(16), nullable=False),
        sa.Column("template", sa.String(64), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("enqueued_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("published_at", UtcDateTime()),
        sa.Column("sending_until", UtcDateTime()),
        sa.Column("last_failure_reason", sa.Text()),
        sa.Column("last_failure_code", sa.String(64)),
        sa.Column("last_failure_at", UtcDateTime()),
        sa.Column("said", sa.Text()),
        sa.Column("message_id", sa.String(255)),
        sa.Column("sent_at", UtcDateTime()),
        sa.Column("dead_lettered_at", UtcDateTime()),
        sa.CheckConstraint("state IN ('PENDING', 'SENT', 'FAILED')", name=op.f("ck_mails_state")),
        sa.PrimaryKeyConstraint("outbox_id", name="pk_mails"),
    )
    op.create_index("ix_mails_claim_id", "mails", ["claim_id"])
    op.create_index("ix_mails_enqueued_at", "mails", ["enqueued_at"])
    _partial_index("ix_mails_not_started", "enqueued_at", "state = 'PENDING' AND published_at IS NULL")
    _partial_index("ix_mails_expires_at", "expires_at", "state = 'PENDING'")
    _partial_index("ix_mails_no_room", "last_failure_at", "state = 'FAILED' AND dead_lettered_at IS NULL")


def _partial_index(name: str, column: str, where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, "mails", [column], sqlite_where=condition, postgresql_where=condition)


def _create_dead_letters() -> None:
    op.create_table(
        "dead_letters",
        sa.Column("outbox_id", sa.String(36), nullable=False),
        sa.Column("company_id", sa.String(64), nullable=False),
        sa.Column("original_data", sa.Text(), nullable=False),
        sa.Column("failed_attempts", sa.Integer(), nullable=False),
        sa.Column("last_failure_reason", sa.Text(), nullable=False),
        sa.Column("last_failure_code", sa.String(64)),
        sa.Column("last_failure_at", UtcDateTime(), nullable=False),
        sa.Column("enqueued_at", UtcDateTime(), nullable=False),
        sa.Column("moved_at", UtcDateTime(), nullable=False),
        sa.Column("ttl_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("redriven_at", UtcDateTime()),
        sa.CheckConstraint("failed_attempts >= 1", name=op.f("ck_dead_letters_failed_attempts")),
        sa.CheckConstraint(
            "trim(last_failure_reason) <> ''", name=op.f("ck_dead_letters_last_failure_reason")
        ),
        sa.PrimaryKeyConstraint("outbox_id", name="pk_dead_letters"),
    )
    for name, columns in DEAD_LETTER_INDEXES.items():
        op.create_index(name, "dead_letters", columns)


def downgrade() -> None:
    """Take them back."""
    op.drop_table("dead_letters")
    op.drop_table("mails")
