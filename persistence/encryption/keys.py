"""Encryption keys: from the environment, or from a file of our own that is made once."""

import base64
import binascii
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

import structlog

from domain.errors import Trouble
from persistence.encryption.cipher import KEY_BYTES, Cipher

KEY_FILE = "encryption.key"
_KEY_ID = re.compile(r"[A-Za-z0-9_\-]{1,32}")
log = structlog.get_logger(__name__)


class EncryptionKeyError(Trouble):
    """The keys cannot be used; the text says what to set."""

    exit_code = 2


def open_cipher(text: str | None, home: Path, *, random: Callable[[int], bytes] = os.urandom) -> Cipher:
    """The cipher of the keys (`id:base64[,id:base64]`, the first encrypts), or of the file in `home`."""
    if text:
        return cipher_of(text, random=random)
    return cipher_of(_key_file(home / KEY_FILE, random), random=random)


def reading_cipher(text: str | None, home: Path) -> Cipher:
    """Like `open_cipher` for reading only: no key is made; one that is missing is named when it is needed."""
    return open_cipher(text, home) if text or (home / KEY_FILE).exists() else Cipher(current="", keys={})


def cipher_of(text: str, *, random: Callable[[int], bytes] = os.urandom) -> Cipher:
    """Read keys from their text."""
    keys = dict(_key(part.strip()) for part in text.strip().split(","))
    return Cipher(current=next(iter(keys)), keys=keys, random=random)


def new_key(key_id: str, *, random: Callable[[int], bytes] = os.urandom) -> str:
    """The text of a fresh key."""
    return f"{key_id}:{base64.b64encode(random(KEY_BYTES)).decode()}"


def _key(part: str) -> tuple[str, bytes]:
    key_id, _, body = part.partition(":")
    try:
        raw = base64.b64decode(body, validate=True)
    except binascii.Error:
        raw = b""
    if not _KEY_ID.fullmatch(key_id) or len(raw) != KEY_BYTES:
        raise EncryptionKeyError(
            f"ENCRYPTION_KEYS: write each key as id:base64 of {KEY_BYTES} bytes (`openssl rand -base64 32`), "
            "separated by commas, the one that encrypts first."
        )
    return key_id, raw


def _key_file(file: Path, random: Callable[[int], bytes]) -> str:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            _create(file, new_key(f"local-{random(4).hex()}", random=random))
        return file.read_text(encoding="ascii")
    except OSError as error:
        raise EncryptionKeyError(
            f"The key file {file} cannot be used ({error.strerror}): set ENCRYPTION_KEYS, "
            "or REENVIO_HOME to a folder of your own."
        ) from error


def _create(file: Path, text: str) -> None:
    """Make the file whole before it has its name; of two that try, the first wins."""
    descriptor, draft = mkstemp(prefix=f".{file.name}-", dir=file.parent)  # readable by its owner only
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    with suppress(FileExistsError):
        os.link(draft, file)
        log.warning(
            "encryption_key_created",
            file=str(file),
            advice="keep a copy: without it stored results cannot be read; set ENCRYPTION_KEYS in production",
        )
    Path(draft).unlink()
