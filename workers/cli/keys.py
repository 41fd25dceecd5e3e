"""`reenvio keys list | add | rotate`: which encryption keys there are, which are needed, and new ones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from persistence.audit.key_needs import KeyNeed
from persistence.audit.seals import EVENTS
from persistence.encryption.cipher import Cipher
from persistence.encryption.keyed_hashes import key_name
from persistence.encryption.keys import (
    KEY_FILE,
    EncryptionKeyError,
    add_key,
    new_key,
    put_first,
    random_id,
    require_key,
)
from persistence.repositories.guides import PURPOSE
from persistence.repositories.sealed import SEALED, KeyUses
from persistence.store import Store
from workers.app.ciphers import keys_as_given, opened_cipher, owns_database
from workers.cli.application import with_store
from workers.cli.output import counted, say, tell
from workers.cli.tables import print_table
from workers.config.settings import Settings, read_settings
from workers.upkeep.keys import missing_keys
from workers.upkeep.rotation import Rotation

GUIDES, AUDIT = "guides", "audit events"
COUNTED = (*(column.what for column in SEALED), GUIDES, AUDIT)
COLUMNS = ("key", "state", *COUNTED, "open claims without it")
MISSING = 1
ONLY_KEY = "It encrypts from now on: restart every worker."
keys_app = typer.Typer(
    help="List, add and rotate encryption keys.", no_args_is_help=True, add_completion=False
)
Uses = Mapping[str, Mapping[str, int]]


@keys_app.command("list")
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


@keys_app.command()
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


@keys_app.command()
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


def by_key(uses: KeyUses, cipher: Cipher) -> Uses:
    """What depends on each key, by its id; guides are kept by a key's name, which begins with its id."""
    found: dict[str, Counter[str]] = {}
    for use in uses.values:
        found.setdefault(use.key_id, Counter())[use.what] += use.values
    ours = {key_name(cipher, key_id, purpose=PURPOSE): key_id for key_id in cipher.keys}
    for name, claims in uses.guides:
        found.setdefault(ours.get(name, name.rpartition(".")[0]), Counter())[GUIDES] += claims
    return found


def with_audit(uses: Uses, needs: Sequence[KeyNeed], cipher: Cipher) -> Uses:
    """The same, with the audit events that nothing proves without a key."""
    audit = {_id_of(need, cipher): need.events for need in needs}
    return {key: Counter(uses.get(key, {})) + Counter({AUDIT: audit.get(key, 0)}) for key in {*uses, *audit}}


def kept_for_audit(needs: Sequence[KeyNeed], cipher: Cipher) -> list[str]:
    """How long the audit trail needs each key that seals no more, a line for each."""
    return [_kept(need, _id_of(need, cipher), cipher) for need in needs]


def _kept(need: KeyNeed, key_id: str, cipher: Cipher) -> str:
    told = f"The audit trail needs {key_id} ({need.events} events)"
    if key_id not in cipher.keys:
        return f"{told}, which is not here: bring it back, no anchor is set without it."
    until = f"the anchor of {need.until}" if need.until else "the next anchor"
    return f"{told}: keep it until {until} is set by workers that seal with {cipher.current}."


def _id_of(need: KeyNeed, cipher: Cipher) -> str:
    ours = {key_name(cipher, key_id, purpose=EVENTS): key_id for key_id in cipher.keys}
    return ours.get(need.name, need.name.rpartition(".")[0])


def state_of(key_id: str, cipher: Cipher, missing: Mapping[str, int]) -> str:
    """What a key does here."""
    if key_id not in cipher.keys:
        return "MISSING"
    if key_id in missing:
        return "here, but ANOTHER KEY"
    return "encrypts" if key_id == cipher.current else "reads"


def left_under_others(uses: Uses, cipher: Cipher) -> list[str]:
    """What still needs another key than the one that encrypts, a line for each."""
    return [
        _left(key_id, counts, cipher) for key_id, counts in sorted(uses.items()) if key_id != cipher.current
    ]


def closed_to(uses: Uses, cipher: Cipher) -> bool:
    """Whether something cannot be sealed anew, as its key is not here; guides without a file never can."""
    missing = (counts for key_id, counts in uses.items() if key_id not in cipher.keys)
    return any(set(counts) - {GUIDES} for counts in missing)


def _where_to(settings: Settings, file: Path) -> str:
    if settings.encryption_keys or not file.exists():
        return "Add this at the end of ENCRYPTION_KEYS"
    return (
        f"The database is not of this home: set ENCRYPTION_KEYS, for all who use it, to the keys of {file} "
        "and this one after them"
    )


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


def _cells(key_id: str, cipher: Cipher, uses: Uses, missing: Mapping[str, int]) -> tuple[str, ...]:
    counts = uses.get(key_id, {})
    numbers = (str(counts.get(what, 0)) for what in COUNTED)
    return key_id, state_of(key_id, cipher, missing), *numbers, str(missing.get(key_id, ""))


def _next(key_id: str) -> str:
    return (
        "Restart every worker, so that all can read it; then "
        f"`reenvio keys rotate --to {key_id}` lets it encrypt, and restart them again."
    )


def _progress(what: str, done: int) -> None:
    if done:
        say(Console(stderr=True), f"{what}: {done} sealed anew")
