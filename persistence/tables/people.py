"""People of the console: who they are, where they are logged in, what they look for, logins that failed."""

from sqlalchemy import Column, Index, Integer, String, Table, Text, UniqueConstraint

from persistence.tables.base import metadata
from persistence.tables.types import BigId, UtcDateTime

LOGIN_LENGTH = 64
TOKEN_HASH_LENGTH = 64

people = Table(
    "people",
    metadata,
    Column("person_id", BigId, primary_key=True),
    Column("login", String(LOGIN_LENGTH), nullable=False),
    Column("name", String(120), nullable=False),
    Column("password_hash", Text),  # empty: no password opens it, only a link
    Column("roles", String(255), nullable=False),
    Column("language", String(8), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("password_set_at", UtcDateTime),
    Column("disabled_at", UtcDateTime),
    Column("issuer", String(255)),  # of who comes in by a provider: together with the subject, who they are
    Column("subject", String(255)),
    UniqueConstraint("login", name="uq_people_login"),
    Index("uq_people_identity", "issuer", "subject", unique=True),
)

people_sessions = Table(
    "people_sessions",
    metadata,
    Column("token_hash", String(TOKEN_HASH_LENGTH), primary_key=True),
    Column("person_id", BigId, nullable=False),
    Column("csrf", String(64), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),
    Index("ix_people_sessions_person_id", "person_id"),
    Index("ix_people_sessions_ends_at", "ends_at"),
)

login_links = Table(
    "login_links",
    metadata,
    Column("token_hash", String(TOKEN_HASH_LENGTH), primary_key=True),
    Column("person_id", BigId, nullable=False),
    Column("ends_at", UtcDateTime, nullable=False),
    Index("ix_login_links_person_id", "person_id"),
    Index("ix_login_links_ends_at", "ends_at"),
)

saved_filters = Table(
    "saved_filters",
    metadata,
    Column("filter_id", BigId, primary_key=True),
    Column("person_id", BigId, nullable=False),
    Column("name", String(60), nullable=False),
    Column("address", Text, nullable=False),
    Column("kept_at", UtcDateTime, nullable=False),
    UniqueConstraint("person_id", "name", name="uq_saved_filters_name"),
)

login_trials = Table(
    "login_trials",
    metadata,
    Column("scope", String(TOKEN_HASH_LENGTH), primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("began_at", UtcDateTime, nullable=False),
    Index("ix_login_trials_began_at", "began_at"),
)
