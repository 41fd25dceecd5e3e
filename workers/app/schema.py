"""Refuses a database whose schema is older than this version."""

from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.migrations import is_new_enough
from workers.config.settings import SettingsError


async def require_current(database: AsyncEngine) -> None:
    """Go on only with the schema that this version needs; a newer one is made to suit it."""
    if not await is_new_enough(database):
        raise SettingsError("The database's schema is older than this version: run `reenvio migrate`.")
