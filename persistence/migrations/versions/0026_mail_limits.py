"""Lanes of mail, the paces at which it leaves, and what is under way."""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.indexes import create_index, drop_index
from persistence.tables.types import UtcDateTime

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The three tables, and the index by which lanes with waiting mail are found."""
    create_index("ix_mails_waiting", "mails", ["lane", "enqueued_at"], where="state = 'PENDING'")
    _create_lanes()
    _create_meters()
    _create_permits()


def _create_lanes() -> None:
    op.create_table(
        "mail_lanes",
        sa.Column("lane", sa.String(8), nullable=False),
        sa.Column("company_id", sa.String(64), nullable=False),
        sa.Column("used_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("lane", name="pk_mail_lanes"),
    )
    op.create_index("ix_mail_lanes_company_id", "mail_lanes", ["company_id"])


def _create_meters() -> None:
    op.create_table(
        "mail_meters",
        sa.Column("scope", sa.String(72), nullable=False),
        sa.Column("paced_until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name="pk_mail_meters"),
    )
    op.create_index("ix_mail_meters_paced_until", "mail_meters", ["paced_until"])


def _create_permits() -> None:
    op.create_table(
        "mail_permits",
        sa.Column("permit_id", sa.String(64), nullable=False),
        sa.Column("company_id", sa.String(64), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("permit_id", name="pk_mail_permits"),
    )
    op.create_index("ix_mail_permits_until", "mail_permits", ["until"])


def downgrade() -> None:
    """Drop them again."""
    drop_index("ix_mails_waiting", "mails")
    for table in ("mail_permits", "mail_meters", "mail_lanes"):
        op.drop_table(table)
