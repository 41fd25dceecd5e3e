"""Encryption keys: from the environment, or from a file of our own that is made once."""

import base64
import binascii
import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp

import structlog

from domain.errors import Trouble
from persistence.encryption.cipher import KEY_BYTES, KEY_ID_CHARACTERS, Cipher

KEY_FILE = "encryption.key"
OPEN_TO_OTHERS = stat.S_IWGRP | stat.S_IRWXO
_KEY_ID = re.compile(rf"[A-Za-z0-9_\-]{{1,{KEY_ID_CHARACTERS}}}")
Random = Callable[[int], bytes]
log = structlog.get_logger(__name__)


class EncryptionKeyError(Trouble):
    """The keys cannot be used; the text says what to set."""

    exit_code = 2


def known_cipher(text: str | None, home: Path) -> Cipher | None:
    """The cipher of the keys (`id:base64[,id:base64]`, the first encrypts), or of the file in `home`."""
    if text:
        return cipher_of(text)
    file = home / KEY_FILE
    return cipher_of(_read(file), source=_named(file)) if file.exists() else None


def made_cipher(home: Path, *, random: Random = os.urandom) -> Cipher:
    """The cipher of the file in `home`; where there is none, with a new key of a random name."""
    file = home / KEY_FILE
    with _usable(file):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            _create(file, new_key(random_id(random), random=random))
    return cipher_of(_read(file), random=random, source=_named(file))


def require_key(cipher: Cipher) -> None:
    """Refuse to go on without a key to encrypt with."""
    if cipher.lack:
        raise EncryptionKeyError(cipher.lack)


def cipher_of(text: str, *, random: Random = os.urandom, source: str = "ENCRYPTION_KEYS") -> Cipher:
    """Read keys from their text; `source` is where a person mends it."""
    keys = [_key(part, source) for part in _split(text)]
    if len(dict(keys)) < len(keys):
        raise EncryptionKeyError(f"{source}: two keys have the same id: give each an id of its own.")
    return Cipher(current=keys[0][0], keys=dict(keys), random=random)


def new_key(key_id: str, *, random: Random = os.urandom) -> str:
    """The text of a fresh key."""
    if not _KEY_ID.fullmatch(key_id):
        raise EncryptionKeyError(f"A key's id has 1 to {KEY_ID_CHARACTERS} letters, digits, _ or -.")
    return f"{key_id}:{base64.b64encode(random(KEY_BYTES)).decode()}"


def random_id(random: Random = os.urandom) -> str:
    """A name that no other key has: a key that was lost is never followed by one of the same name."""
    return f"local-{random(4).hex()}"


def add_key(home: Path, key: str) -> None:
    """Put a key at the end of the file in `home`: it reads, and encrypts where it is the only one."""
    with _changing(home / KEY_FILE) as keys:
        keys.append(key)


def put_first(home: Path, key_id: str) -> None:
    """Let a key of the file in `home` be the one that encrypts."""
    with _changing(home / KEY_FILE) as keys:
        found = [key for key in keys if key.startswith(f"{key_id}:")]
        if not found:
            raise EncryptionKeyError(
                f"There is no key {key_id!r} in {home / KEY_FILE}: see `reenvio keys list`."
            )
        keys[:] = found + [key for key in keys if key not in found]


def _named(file: Path) -> str:
    return f"The key file {file}"


def _split(text: str) -> list[str]:
    """The keys, between commas or line ends: two key files may be joined as they are."""
    return re.split(r"[,\s]+", text.strip(", \t\r\n"))


def _key(part: str, source: str) -> tuple[str, bytes]:
    key_id, _, body = part.partition(":")
    try:
        raw = base64.b64decode(body, validate=True)
    except binascii.Error:
        raw = b""
    if not _KEY_ID.fullmatch(key_id) or len(raw) != KEY_BYTES:
        raise EncryptionKeyError(
            f"{source}: write each key as id:base64 of {KEY_BYTES} bytes (`openssl rand -base64 32`), "
            "separated by commas or line ends, the one that encrypts first."
        )
    return key_id, raw


def _read(file: Path) -> str:
    with _usable(file):
        if file.stat().st_mode & OPEN_TO_OTHERS:
            raise EncryptionKeyError(f"The key file {file} is open to others: `chmod 600 {file}`.")
        return file.read_text(encoding="ascii")


@contextmanager
def _usable(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EncryptionKeyError(
            f"The key file {file} cannot be used ({error.strerror}): set ENCRYPTION_KEYS, "
            "or REENVIO_HOME to a folder of your own."
        ) from error


@contextmanager
def _changing(file: Path) -> Iterator[list[str]]:
    """The keys of the file, to be changed: whoever else changes them waits, who reads sees all or nothing."""
    with _usable(file):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            keys = _split(_read(file)) if file.exists() else []
            yield keys
            cipher_of(",".join(keys), source=_named(file))
            _draft(file, ",".join(keys)).replace(file)
        finally:
            os.close(folder)


def _create(file: Path, text: str) -> None:
    """Of two that try, the first wins."""
    draft = _draft(file, text)
    with suppress(FileExistsError):
        os.link(draft, file)
        log.warning(
            "encryption_key_created",
            file=str(file),
            advice="keep a copy: without it stored results cannot be read; set ENCRYPTION_KEYS in production",
        )
    draft.unlink()


def _draft(file: Path, text: str) -> Path:
    """The file, whole before it has its name."""
    descriptor, draft = mkstemp(prefix=f".{file.name}-", dir=file.parent)  # readable by its owner only
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    return Path(draft)
