"""Whether the encryption keys that the database needs are here: said at the start, and by readiness."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog

from persistence.database.trouble import DatabaseError
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import EncryptionKeyError
from persistence.repositories.payloads import payload_context, sealing_name
from persistence.repositories.sealed import WaitingFiles
from persistence.store import Store

LOOK_SECONDS = 30.0
ADVICE = (
    "give every worker this key (a line of its own in the key file, or in ENCRYPTION_KEYS) and restart it, "
    "or hand the same files in again with `reenvio claim submit`: see `reenvio keys list`"
)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MissingKey:
    """A key that open claims need and that is not here; `is_other` says that another has its id."""

    key_id: str
    claims: int
    example: str
    is_other: bool

    def __str__(self) -> str:
        what = "is another than it was" if self.is_other else "is not here"
        some = self.example if self.claims == 1 else f"{self.example} and {self.claims - 1} more"
        return f"the encryption key {self.key_id} {what}: {some} cannot be sent"


async def missing_keys(store: Store, cipher: Cipher) -> Sequence[MissingKey]:
    """The keys by which files of open claims are sealed and that are not here."""
    names = {sealing_name(cipher, key_id) for key_id in cipher.keys}
    waiting = await store.look(lambda tx: tx.sealed.waiting(names))
    return [
        MissingKey(files.key_id, files.claims, files.example, is_other=files.key_id in cipher.keys)
        for files in waiting
        if not await _open(store, cipher, files)
    ]


async def _open(store: Store, cipher: Cipher, files: WaitingFiles) -> bool:
    """Whether one of the files opens; earlier versions kept no name, or left that of an earlier file."""
    if files.key_id not in cipher.keys:
        return False
    stored = await store.look(lambda tx: tx.payloads.find(files.example))
    context = payload_context(files.example)
    return stored is None or await asyncio.to_thread(cipher.opens, stored, context=context)


class KeyWatch:
    """Looks now and then whether a key is missing, and says so once each time that it changes."""

    def __init__(
        self, store: Store, cipher: Cipher, *, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._cipher = cipher
        self._seconds = seconds
        self._looked_at: float | None = None
        self._missing: Sequence[MissingKey] = ()

    async def start(self) -> None:
        """Refuse a key under another's id; tell of keys that are missing."""
        await self._require_own_id()
        await self.trouble()

    async def trouble(self) -> str | None:
        """For readiness: which keys are missing, and what cannot be sent for it; or that there is none."""
        if self._cipher.lack:
            return self._cipher.lack
        if self._looked_at is None or self._seconds() - self._looked_at >= LOOK_SECONDS:
            with suppress(DatabaseError):  # the database's own trouble is told by itself
                self._tell(await missing_keys(self._store, self._cipher))
            self._looked_at = self._seconds()
        return f"{'; '.join(map(str, self._missing))}: {ADVICE}" if self._missing else None

    def _tell(self, missing: Sequence[MissingKey]) -> None:
        for key in missing:
            if key not in self._missing:
                log.error(
                    "encryption_key_missing",
                    key=key.key_id,
                    claims=key.claims,
                    claim=key.example,
                    advice=ADVICE,
                )
        self._missing = missing

    async def _require_own_id(self) -> None:
        """A key that has sealed nothing yet must not take the id of another that has."""
        current = self._cipher.current
        name = sealing_name(self._cipher, current)
        example = await self._store.look(lambda tx: tx.sealed.of_a_namesake(current, name))
        if example is None:
            return
        context = payload_context(example.owner)
        if not await asyncio.to_thread(self._cipher.opens, example.value, context=context):
            raise EncryptionKeyError(
                f"The key {current!r} is not the one that the database's files were sealed with under that "
                f"id (for example that of {example.row}): bring that key back, or give the new one an id of "
                "its own."
            )
