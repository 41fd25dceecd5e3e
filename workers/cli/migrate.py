"""`reenvio migrate`: the database's schema."""

import asyncio

from workers.app.databases import migrate_database
from workers.app.logs import configure_logs
from workers.cli.output import tell
from workers.config.settings import read_settings


def migrate() -> None:
    """Bring the database to the newest schema."""
    settings = read_settings()
    configure_logs(settings.logs.level, settings.logs.format)
    asyncio.run(migrate_database(settings))
    tell("The database has the newest schema.")
