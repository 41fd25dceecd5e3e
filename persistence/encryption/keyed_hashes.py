"""Numbers that are to be known again but not read: hashed with a key derived from a cipher's."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping

from persistence.encryption.cipher import Cipher

HASH_CHARACTERS = 32
FINGERPRINT_CHARACTERS = 12
NAME_CHARACTERS = 32


def keyed_hashes(cipher: Cipher, key_id: str, values: Iterable[str], *, purpose: str) -> frozenset[str]:
    """The hashes of the values under one of the cipher's keys; another purpose gives others."""
    key = derived_key(cipher, key_id, purpose)
    return frozenset(
        hmac.digest(key, value.encode(), hashlib.sha256).hex()[:HASH_CHARACTERS] for value in values
    )


def keyed_digits(cipher: Cipher, key_id: str, text: str, *, length: int, purpose: str) -> str:
    """So many digits, at most 19, that stand for a text; nobody finds the text by trying all there are."""
    digest = hmac.digest(derived_key(cipher, key_id, purpose), text.encode(), hashlib.sha256)
    return f"{int.from_bytes(digest[:8]) % 10**length:0{length}d}"


def key_name(cipher: Cipher, key_id: str, *, purpose: str) -> str:
    """What to keep with hashes: the key's id as far as there is room, and a fingerprint of the key.

    A key that was replaced under the same id has another name.
    """
    key = derived_key(cipher, key_id, purpose)
    fingerprint = hmac.digest(key, b"fingerprint", hashlib.sha256).hex()[:FINGERPRINT_CHARACTERS]
    return f"{key_id[: NAME_CHARACTERS - FINGERPRINT_CHARACTERS - 1]}.{fingerprint}"


def under_every_key(cipher: Cipher, values: Iterable[str], *, purpose: str) -> Mapping[str, frozenset[str]]:
    """The hashes by the name of their key: what was hashed before the keys changed is found too."""
    given = tuple(values)
    return {
        key_name(cipher, key_id, purpose=purpose): keyed_hashes(cipher, key_id, given, purpose=purpose)
        for key_id in cipher.keys
    }


def derived_key(cipher: Cipher, key_id: str, purpose: str) -> bytes:
    """A key for one purpose; it tells nothing about the key it is derived from."""
    return hmac.digest(cipher.keys[key_id], purpose.encode(), hashlib.sha256)
