"""Opening the database for whoever needs nothing else: no engine, no payers, no mail."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from persistence.audit.seals import seals_of
from persistence.database.engine import close_database, lacks_file, open_database
from persistence.database.revision import is_new_enough, knows_beginnings
from persistence.encryption.keys import require_key
from persistence.store import Store
from workers.app.beginnings import begin_trail
from workers.app.ciphers import keys_as_given, opened_cipher
from workers.app.private_files import keep_private, tell_open_folders
from workers.config.settings import Settings, SettingsError


@asynccontextmanager
async def opened_store(settings: Settings) -> AsyncIterator[Store]:
    """The database with the schema that this version needs; a newer one is made to suit it.

    Audit events are sealed and checked with the keys that are here already.
    """
    if lacks_file(settings.database):
        raise SettingsError("There is no database yet: run `reenvio migrate` or `reenvio up`.")
    keep_private(settings)
    database = open_database(settings.database)
    try:
        if not await is_new_enough(database):
            raise SettingsError(
                "The database's schema is missing or older than this version: run `reenvio migrate`."
            )
        yield Store(database, seals_of(keys_as_given(settings)))
    finally:
        await close_database(database)


@asynccontextmanager
async def opened_trail(settings: Settings) -> AsyncIterator[Store]:
    """Like `opened_store` for who writes the audit trail: not without the key that seals it."""
    async with opened_store(settings) as store:
        cipher = await opened_cipher(settings, store)
        require_key(cipher)
        sealed = store.sealed_with(seals_of(cipher))
        await begin_trail(settings, sealed)
        yield sealed


@asynccontextmanager
async def opened_for_retention(settings: Settings, store: Store) -> AsyncIterator[Store]:
    """The same database under the role that may remove what is past its period, where one is set."""
    if settings.retention.database_url is None:
        yield store
        return
    database = open_database(settings.retention.database_url)
    try:
        yield Store(database)
    finally:
        await close_database(database)


async def migrate_database(settings: Settings) -> None:
    """Bring the configured database to the newest schema; an upgraded audit trail is signed as it is."""
    from persistence.migrations import migrate  # Alembic: no other command needs it

    keep_private(settings)
    tell_open_folders(settings)
    database = open_database(settings.database)
    try:
        upgraded = not await knows_beginnings(database)
        await migrate(database)
        store = Store(database, seals_of(keys_as_given(settings)))
        await begin_trail(settings, store, upgraded=upgraded)
    finally:
        await close_database(database)
