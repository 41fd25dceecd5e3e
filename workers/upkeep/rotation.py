"""Puts everything that is sealed under the key that encrypts, in small steps beside workers."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from gateways.tiss.lote import LoteRefusedError
from persistence.encryption.cipher import Cipher, CipherError
from persistence.repositories.guides import KeptGuides, kept_guides
from persistence.repositories.payloads import open_payload, sealing_name
from persistence.repositories.sealed import FILES, SEALED, RowId, SealedColumn, SealedValue
from persistence.store import Store, Transaction
from workers.claims.guides import guides_of

Progress = Callable[[str, int], None]
"""Is told what was sealed anew, and how many of it so far."""


@dataclass(frozen=True, slots=True)
class SealedAnew:
    """A value under the key that encrypts, in the place of one under another; a file with its guides."""

    before: SealedValue
    value: str
    guides: KeptGuides | None = None


@dataclass(frozen=True, slots=True)
class Rotation:
    """Seals anew what the keys that are here open; each step is a commit, so it may end at any time."""

    store: Store
    cipher: Cipher

    async def run(self, progress: Progress) -> int:
        """Seal everything anew that is under another key; how much that was."""
        return sum([await self._column(column, progress) for column in SEALED])

    async def _column(self, column: SealedColumn, progress: Progress) -> int:
        done, after = 0, column.before_all
        while page := await self._page(column, after):
            after = page[-1].row
            changed = await asyncio.to_thread(self._sealed_anew, column, page)
            done += await self.store.run(partial(self._write, column=column, batch=changed))
            progress(column.what, done)
        return done

    async def _page(self, column: SealedColumn, after: RowId) -> Sequence[SealedValue]:
        current = self.cipher.current
        return await self.store.look(lambda tx: tx.sealed.not_under(column, current, self._name, after=after))

    @property
    def _name(self) -> str:
        return sealing_name(self.cipher, self.cipher.current)

    def _sealed_anew(self, column: SealedColumn, page: Sequence[SealedValue]) -> Sequence[SealedAnew]:
        """What of the page can be opened; the rest waits for its key."""
        return [new for value in page if (new := self._one(column, value))]

    def _one(self, column: SealedColumn, sealed: SealedValue) -> SealedAnew | None:
        context = column.context(sealed.owner)
        try:
            data = self.cipher.decrypt_bytes(sealed.value, context=context)
        except CipherError:
            return None
        guides = self._guides(sealed) if column is FILES else None
        return SealedAnew(sealed, self.cipher.encrypt_bytes(data, context=context), guides)

    def _guides(self, sealed: SealedValue) -> KeptGuides | None:
        try:
            return kept_guides(self.cipher, guides_of(open_payload(self.cipher, sealed.owner, sealed.value)))
        except LoteRefusedError:
            return None

    async def _write(self, tx: Transaction, *, column: SealedColumn, batch: Sequence[SealedAnew]) -> int:
        """What somebody else has changed meanwhile is theirs, and under their key."""
        written = 0
        for new in batch:
            if await tx.sealed.replace(column, new.before, new.value, self._name):
                written += 1
                if new.guides:
                    await tx.guides.rekey(new.before.owner, new.guides)
        return written
