"""`reenvio keys list | add`: which encryption keys there are and which are needed, and new ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import (
    KEY_FILE,
    add_key,
    new_key,
    random_id,
)
from persistence.repositories.sealed import SEALED
from persistence.store import Store
from workers.app.ciphers import keys_as_given, owns_database
from workers.cli.database import with_store
from workers.cli.key_uses import AUDIT, GUIDES, MISSING, Uses, by_key, kept_for_audit, with_audit
from workers.cli.output import say, tell
from workers.cli.tables import print_table
from workers.config.settings import Settings, read_settings
from workers.upkeep.keys import missing_keys

COUNTED = (*(column.what for column in SEALED), GUIDES, AUDIT)
COLUMNS = ("key", "state", *COUNTED, "open claims without it")
ONLY_KEY = "It encrypts from now on: restart every worker."


def list_keys() -> None:
    """The keys that are here or needed, and how much is under each; exit 1 when a needed one is missing."""
    settings = read_settings()

    async def go(store: Store) -> None:
        cipher = keys_as_given(settings)
        needs = await store.look(lambda tx: tx.audit_keys.all())
        uses = with_audit(by_key(await store.look(lambda tx: tx.sealed.uses()), cipher), needs, cipher)
        missing = {key.key_id: key.claims for key in await missing_keys(store, cipher)}
        ids = [*cipher.keys, *sorted(uses.keys() - cipher.keys.keys())]
        rows = [_cells(key, cipher, uses, missing) for key in ids]
        if not rows:
            tell("No keys yet: the first is made when something is to be sealed.")
            return
        print_table(COLUMNS, rows)
        for line in kept_for_audit(needs, cipher):
            tell(line)
        raise typer.Exit(MISSING if set(ids) - set(cipher.keys) or missing else 0)

    with_store(go, settings)


def add(
    key_id: Annotated[str | None, typer.Option("--id", help="Its id; default: a random one.")] = None,
) -> None:
    """Make a key, into the key file or printed for ENCRYPTION_KEYS: it can read, and encrypts nothing yet."""
    settings = read_settings()
    name = key_id or random_id()
    key, err = new_key(name), Console(stderr=True)
    file = settings.home / KEY_FILE
    if settings.encryption_keys or not owns_database(settings):
        say(err, f"{_where_to(settings, file)}, and keep a copy. {_next(name)}")
        tell(key)
        return
    is_only = not file.exists()
    add_key(settings.home, key)
    told = ONLY_KEY if is_only else _next(name)
    say(err, f"Key {name} is in {file} now: keep a copy of the file. {told}")


def state_of(key_id: str, cipher: Cipher, missing: Mapping[str, int]) -> str:
    """What a key does here."""
    if key_id not in cipher.keys:
        return "MISSING"
    if key_id in missing:
        return "here, but ANOTHER KEY"
    return "encrypts" if key_id == cipher.current else "reads"


def _where_to(settings: Settings, file: Path) -> str:
    if settings.encryption_keys or not file.exists():
        return "Add this at the end of ENCRYPTION_KEYS"
    return (
        f"The database is not of this home: set ENCRYPTION_KEYS, for all who use it, to the keys of {file} "
        "and this one after them"
    )


def _cells(key_id: str, cipher: Cipher, uses: Uses, missing: Mapping[str, int]) -> tuple[str, ...]:
    counts = uses.get(key_id, {})
    numbers = (str(counts.get(what, 0)) for what in COUNTED)
    return key_id, state_of(key_id, cipher, missing), *numbers, str(missing.get(key_id, ""))


def _next(key_id: str) -> str:
    return (
        "Restart every worker, so that all can read it; then "
        f"`reenvio keys rotate --to {key_id}` lets it encrypt, and restart them again."
    )
