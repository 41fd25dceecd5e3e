"""Numbers that are to be known again but not read: hashed with a key derived from a cipher's."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping

from persistence.encryption.cipher import Cipher

HASH_CHARACTERS = 32


def keyed_hashes(cipher: Cipher, key_id: str, values: Iterable[str], *, purpose: str) -> frozenset[str]:
    """The hashes of the values under one of the cipher's keys; another purpose gives others."""
    key = hmac.digest(cipher.keys[key_id], purpose.encode(), hashlib.sha256)
    return frozenset(
        hmac.digest(key, value.encode(), hashlib.sha256).hex()[:HASH_CHARACTERS] for value in values
    )


def under_every_key(cipher: Cipher, values: Iterable[str], *, purpose: str) -> Mapping[str, frozenset[str]]:
    """The hashes by key id: what was hashed before the keys changed is found too."""
    given = tuple(values)
    return {key_id: keyed_hashes(cipher, key_id, given, purpose=purpose) for key_id in cipher.keys}
