"""`reenvio keys rotate`: everything under one key, which needs to read the files of claims again."""

from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console

from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import (
    EncryptionKeyError,
    put_first,
    require_key,
)
from persistence.store import Store
from workers.app.ciphers import keys_as_given, opened_cipher
from workers.cli.database import with_store
from workers.cli.key_uses import GUIDES, MISSING, Uses, by_key, kept_for_audit
from workers.cli.output import counted, say, tell
from workers.config.settings import Settings, read_settings
from workers.upkeep.rotation import Rotation


def rotate(
    to: Annotated[str | None, typer.Option("--to", help="The key that is to encrypt from now on.")] = None,
) -> None:
    """Seal everything anew with the key that encrypts, in small steps; may be interrupted and run again."""
    settings = read_settings()
    if to:
        _let_encrypt(settings, to)

    async def go(store: Store) -> None:
        cipher = await opened_cipher(settings, store)
        require_key(cipher)
        done = await Rotation(store, cipher).run(_progress)
        tell(f"{counted(done, 'value')} sealed anew with {cipher.current}.")
        left = by_key(await store.look(lambda tx: tx.sealed.uses()), cipher)
        needs = await store.look(lambda tx: tx.audit_keys.all())
        for line in (*left_under_others(left, cipher), *kept_for_audit(needs, cipher)):
            tell(line)
        raise typer.Exit(MISSING if closed_to(left, cipher) else 0)

    with_store(go, settings)


def left_under_others(uses: Uses, cipher: Cipher) -> list[str]:
    """What still needs another key than the one that encrypts, a line for each."""
    return [
        _left(key_id, counts, cipher) for key_id, counts in sorted(uses.items()) if key_id != cipher.current
    ]


def closed_to(uses: Uses, cipher: Cipher) -> bool:
    """Whether something cannot be sealed anew, as its key is not here; guides without a file never can."""
    missing = (counts for key_id, counts in uses.items() if key_id not in cipher.keys)
    return any(set(counts) - {GUIDES} for counts in missing)


def _left(key_id: str, counts: Mapping[str, int], cipher: Cipher) -> str:
    told = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
    if key_id not in cipher.keys:
        return f"Left under {key_id}, which is not here: {told}. Bring that key back, and run this again."
    if set(counts) == {GUIDES}:
        return (
            f"Left under {key_id}: {told} of claims whose files are gone; keep the key as long as the claims."
        )
    return f"Left under {key_id}: {told}; a worker still encrypts with it, so restart it and run this again."


def _let_encrypt(settings: Settings, key_id: str) -> None:
    cipher = keys_as_given(settings)
    if cipher.current == key_id:
        return
    if settings.encryption_keys:
        raise EncryptionKeyError(
            f"Put the key {key_id!r} first in ENCRYPTION_KEYS, here and for every worker."
        )
    put_first(settings.home, key_id)


def _progress(what: str, done: int) -> None:
    if done:
        say(Console(stderr=True), f"{what}: {done} sealed anew")
