"""Refuses a database whose schema is not the newest."""

from sqlalchemy.ext.asyncio import AsyncEngine

from persistence.migrations import is_current
from workers.settings import SettingsError


async def require_current(database: AsyncEngine) -> None:
    """Go on only with the schema that this version needs."""
    if not await is_current(database):
        raise SettingsError("The database's schema is not the one this version needs: run `reenvio migrate`.")
