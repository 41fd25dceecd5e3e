"""Finds the claim that a batch is already, whatever its id."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TypeVar

from domain.batches import BatchIdentity, is_same_batch, leaves_batch_free
from domain.refusals import Refusal, conflict
from gateways.tiss.lote import read_lote
from gateways.tiss.parties import Provider
from persistence.database.trouble import DatabaseError, is_locked_out
from persistence.encryption.cipher import Cipher, CipherError
from persistence.repositories.claims import Arrival, ClaimRow
from persistence.store import Store, Transaction, Work
from workers.claims.examination import Channels, CheckedFile, channels_to

Result = TypeVar("Result")
KeptFile = tuple[str, str, str | None]
"""A claim's id, payer and content."""
Providers = Mapping[KeptFile, Provider | None]
"""Whose batches claims are."""
BatchWork = Callable[[Transaction, Providers], Awaitable[Result]]
NONE_READ: Providers = MappingProxyType({})
LOCKED_TRIES, LOCKED_PAUSE_SECONDS = 12, 0.05
"""Each waits as long as a job does: 1.5 s for a row of PostgreSQL, 3 s for SQLite."""


class UnreadFilesError(Exception):
    """Undoes a transaction that has to know whose batches these claims are."""

    def __init__(self, claims: Sequence[ClaimRow]) -> None:
        super().__init__()
        self.claims = claims


@dataclass(frozen=True, slots=True)
class Batches:
    """Knows claims by payer, provider and batch number."""

    channels: Channels
    cipher: Cipher

    async def lock(self, tx: Transaction, registro_ans: str, now: datetime) -> None:
        """Let nobody else take in a batch for this payer until the transaction ends."""
        await tx.payers.lock(channels_to(self.channels, registro_ans)[0], now=now)

    async def known_numbers(self, tx: Transaction, registro_ans: str, numbers: Collection[str]) -> set[str]:
        """Those of the numbers that claims at this payer have."""
        return await tx.claims.known_batches(channels_to(self.channels, registro_ans), numbers)

    async def run(self, store: Store, work: BatchWork[Result], read: Providers = NONE_READ) -> Result:
        """Do the work in a transaction; what it has to know of files is read outside, then it is repeated.

        It locks payers, and a file takes long to open and read. What is `read` already need not be again.
        """
        try:
            return await _patiently(store, lambda tx: work(tx, read))
        except UnreadFilesError as unread:
            claims = unread.claims
        more = await store.look(lambda tx: self._providers(tx, claims))
        return await self.run(store, work, {**read, **more})

    async def require_new(self, tx: Transaction, file: CheckedFile, read: Providers) -> None:
        """Refuse a batch that is another claim already; its payer is locked, and no file is opened here."""
        names = channels_to(self.channels, file.examined.registro_ans)
        others = await tx.claims.of_batch(names, file.arrival.batch_number)
        rivals = [one for one in others if one.claim_id != file.arrival.claim_id]
        rivals = [one for one in rivals if not await _leaves_it_free(tx, one)]
        if unread := [one for one in rivals if _has_to_be_read(one, file) and kept_file(one) not in read]:
            raise UnreadFilesError(unread)
        for other in rivals:
            if _is_the_same(other, read, file):
                raise _known(other)

    async def _providers(self, tx: Transaction, claims: Sequence[ClaimRow]) -> Providers:
        files = {kept_file(one): one for one in claims}
        return {file: await self._provider(tx, one) for file, one in files.items()}

    async def _provider(self, tx: Transaction, claim: ClaimRow) -> Provider | None:
        """Whose batch a claim is; None when its file is not kept any more, or cannot be opened."""
        if own := self.channels[claim.payer_id].settings.own_provider:
            return own
        try:
            content = await tx.payloads.opened(claim.claim_id, self.cipher)
        except CipherError:
            return None
        return (await asyncio.to_thread(read_lote, content)).provider if content else None


async def _patiently(store: Store, work: Work[Result]) -> Result:
    """What somebody else holds is asked for again: no job comes back for a file that is refused."""
    for _ in range(LOCKED_TRIES - 1):
        try:
            return await store.run(work)
        except DatabaseError as error:
            if not is_locked_out(error):
                raise
        await asyncio.sleep(LOCKED_PAUSE_SECONDS)
    return await store.run(work)


async def _leaves_it_free(tx: Transaction, other: ClaimRow) -> bool:
    arrived = await tx.attempts.may_have_arrived(other.claim_id)
    return leaves_batch_free(other.state, may_have_arrived=arrived)


def kept_file(claim: ClaimRow | Arrival) -> KeptFile:
    """Which file a claim has."""
    return claim.claim_id, claim.payer_id, claim.content_hash


def _has_to_be_read(other: ClaimRow, file: CheckedFile) -> bool:
    """Whether the other claim's file must be opened to tell whose batch it is."""
    return not file.arrival.has_content(other.content_hash)


def _is_the_same(other: ClaimRow, read: Providers, file: CheckedFile) -> bool:
    if not _has_to_be_read(other, file):
        return True
    given = BatchIdentity(file.arrival.content_hash, file.examined.provider)
    return is_same_batch(BatchIdentity(other.content_hash, read[kept_file(other)]), given)


def _known(other: ClaimRow) -> Refusal:
    return conflict(
        "file",
        f"its batch is known as {other.claim_id} ({other.state})",
        rule="one batch, one claim",
        remedy=f"See `reenvio claim show {other.claim_id}`, or give the file a batch number of its own.",
    )
