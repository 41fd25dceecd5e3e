"""Alembic's entry: runs on the connection it is handed, each revision in a transaction of its own."""

from alembic import context

from persistence.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    compare_type=True,
    render_as_batch=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
