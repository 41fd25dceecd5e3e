"""Sensitive columns: AES-256-GCM, each value with the id of its key, so that keys can change."""

import base64
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from persistence.database.trouble import DatabaseError

KEY_BYTES = 32
NONCE_BYTES = 12
FORMAT = "g1"
KEY_ID_CHARACTERS = 32


class CipherError(DatabaseError):
    """A value cannot be read: its key, `key_id`, is not here or is another, or the value was changed."""

    def __init__(self, message: str, key_id: str | None = None) -> None:
        self.key_id = key_id
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Cipher:
    """Encrypts with the current key and reads with any it has; `context` ties a value to its row.

    Without any key `lack` says why.
    """

    current: str
    keys: Mapping[str, bytes]
    random: Callable[[int], bytes] = os.urandom
    lack: str = ""

    def encrypt(self, text: str, *, context: str) -> str:
        """The text for storage."""
        return self.encrypt_bytes(text.encode(), context=context)

    def decrypt(self, stored: str, *, context: str) -> str:
        """The text from storage; a CipherError names the key that is missing."""
        return self.decrypt_bytes(stored, context=context).decode()

    def encrypt_bytes(self, data: bytes, *, context: str) -> str:
        """The bytes for storage, as text."""
        if self.lack:
            raise CipherError(self.lack)
        nonce = self.random(NONCE_BYTES)
        sealed = AESGCM(self.keys[self.current]).encrypt(nonce, data, context.encode())
        return f"{FORMAT}:{self.current}:{base64.b64encode(nonce + sealed).decode()}"

    def decrypt_bytes(self, stored: str, *, context: str) -> bytes:
        """The bytes from storage; a CipherError names the key that is missing."""
        _format, key_id, body = _parts(stored)
        if key_id not in self.keys:
            raise CipherError(
                f"A stored value was encrypted with the key {key_id!r}, which is not set: "
                "add it to ENCRYPTION_KEYS, or on a line of its own to encryption.key in REENVIO_HOME.",
                key_id,
            )
        try:
            raw = base64.b64decode(body)
            return AESGCM(self.keys[key_id]).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], context.encode())
        except (InvalidTag, ValueError) as error:
            raise CipherError(
                f"A stored value does not open with the key {key_id!r}: the value was changed, "
                "or ENCRYPTION_KEYS gives another key that name.",
                key_id,
            ) from error

    def opens(self, stored: str, *, context: str) -> bool:
        """Whether a stored value can be read with the keys that are here."""
        try:
            self.decrypt_bytes(stored, context=context)
        except CipherError:
            return False
        return True


def _parts(stored: str) -> tuple[str, str, str]:
    parts = stored.split(":", 2)
    if len(parts) != 3 or parts[0] != FORMAT:
        raise CipherError("A stored value is not encrypted in a form this version knows.")
    return parts[0], parts[1], parts[2]
