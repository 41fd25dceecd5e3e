"""The console: its people, their sessions, links and failed logins; and indexes for its lists of claims."""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.indexes import create_index, drop_index
from persistence.tables.types import BigId, UtcDateTime

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

INDEXES = (
    ("ix_claims_incident", ["created_at", "claim_id"], "incident IS NOT NULL"),
    ("ix_claims_deadline", ["deadline", "claim_id"], "state NOT IN ('ACCEPTED', 'CANCELLED', 'WRITTEN_OFF')"),
    ("ix_claims_protocol_number", ["protocol_number"], "protocol_number IS NOT NULL"),
)


def upgrade() -> None:
    """Tables that nobody knew before, and indexes that workers of the version before keep up too."""
    for name, columns, where in INDEXES:
        create_index(name, "claims", columns, where=where)
    op.create_table(
        "people",
        sa.Column("person_id", BigId, nullable=False),
        sa.Column("login", sa.String(64), nullable=False),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("password_hash", sa.Text()),
        sa.Column("roles", sa.String(255), nullable=False),
        sa.Column("language", sa.String(8), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("password_set_at", UtcDateTime()),
        sa.Column("disabled_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("person_id", name="pk_people"),
        sa.UniqueConstraint("login", name="uq_people_login"),
    )
    op.create_table(
        "people_sessions",
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("person_id", BigId, nullable=False),
        sa.Column("csrf", sa.String(64), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("ends_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("token_hash", name="pk_people_sessions"),
    )
    op.create_index("ix_people_sessions_person_id", "people_sessions", ["person_id"])
    op.create_index("ix_people_sessions_ends_at", "people_sessions", ["ends_at"])
    op.create_table(
        "login_links",
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("person_id", BigId, nullable=False),
        sa.Column("ends_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("token_hash", name="pk_login_links"),
    )
    op.create_index("ix_login_links_person_id", "login_links", ["person_id"])
    op.create_index("ix_login_links_ends_at", "login_links", ["ends_at"])
    op.create_table(
        "login_trials",
        sa.Column("scope", sa.String(64), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("began_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name="pk_login_trials"),
    )
    op.create_index("ix_login_trials_began_at", "login_trials", ["began_at"])


def downgrade() -> None:
    """Take all of it back."""
    for name, _, _ in INDEXES:
        drop_index(name, "claims")
    for table in ("login_trials", "login_links", "people_sessions", "people"):
        op.drop_table(table)
