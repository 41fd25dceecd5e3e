"""Alembic's entry: runs on the connection it is handed, one migrator at a time."""

from alembic import context
from sqlalchemy import Connection, text

from persistence.tables import metadata

MIGRATORS = 0x5EE0
"""The advisory lock under which migrations queue."""


def _be_patient_and_polite(connection: Connection) -> None:
    """Wait for other migrators, but never make workers queue behind a lock we cannot get."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATORS})
        connection.execute(text("SET LOCAL lock_timeout = '3s'"))


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    compare_type=True,
    render_as_batch=True,
)
with context.begin_transaction():
    _be_patient_and_polite(context.config.attributes["connection"])
    context.run_migrations()
