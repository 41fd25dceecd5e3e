"""The cipher of the configured keys; a key is made by itself for a new database of our own home only."""

from collections.abc import Sequence

from persistence.database.engine import sqlite_file
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import KEY_FILE, known_cipher, made_cipher
from persistence.store import Store
from workers.config.settings import Settings

NO_KEY_ELSEWHERE = (
    "ENCRYPTION_KEYS is not set: files, results and the audit trail are sealed with a key, and none is made "
    "for a database that is not an SQLite file in REENVIO_HOME, since all who use it need the same. "
    "`reenvio keys add` prints one to set for all of them."
)


async def opened_cipher(settings: Settings, store: Store) -> Cipher:
    """The cipher of the given keys, or of a key file in our home, which is made for a new database there.

    No key is made where another is missing: the cipher then says what it lacks when it is to encrypt.
    """
    if keys := _given_keys(settings):
        return keys
    if not owns_database(settings):
        return Cipher("", {}, lack=NO_KEY_ELSEWHERE)
    uses = await store.look(lambda tx: tx.sealed.uses())
    if keys := _given_keys(settings):  # another process has made it, and has sealed something since
        return keys
    if uses.key_ids:
        return Cipher("", {}, lack=_lost(settings, uses.key_ids))
    return made_cipher(settings.home)


def keys_as_given(settings: Settings) -> Cipher:
    """The same for who only reads: makes no key file, and one that is missing is named when it is needed."""
    return _given_keys(settings) or Cipher("", {}, lack=NO_KEY_ELSEWHERE)


def owns_database(settings: Settings) -> bool:
    """Whether the database is an SQLite file in our home, so that a key file there is as much everybody's."""
    file = sqlite_file(settings.database)
    return file is not None and file.resolve().parent == settings.home.resolve()


def _given_keys(settings: Settings) -> Cipher | None:
    keys = settings.encryption_keys
    return known_cipher(keys.get_secret_value() if keys else None, settings.home)


def _lost(settings: Settings, key_ids: Sequence[str]) -> str:
    return (
        f"No encryption key is here, and the database holds what was sealed with {', '.join(key_ids)}: put "
        f"the key file back ({settings.home / KEY_FILE}), or set ENCRYPTION_KEYS. If it is lost for good, "
        "`reenvio keys add` makes a new one, and the files of open claims are to be handed in again; a key "
        "that is found later goes on a line of its own into that file, after the new one."
    )
