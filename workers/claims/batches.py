"""Finds the claim that a batch is already, whatever its id."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from domain.batches import BatchIdentity, is_same_batch, leaves_batch_free
from domain.refusals import Refusal, conflict
from gateways.tiss.lote import read_lote
from gateways.tiss.parties import Provider
from persistence.encryption.cipher import Cipher, CipherError
from persistence.repositories.claims import ClaimRow
from persistence.store import Transaction
from workers.claims.examination import Channels, CheckedFile, channels_to


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

    async def require_new(self, tx: Transaction, file: CheckedFile) -> None:
        """Refuse a batch that is another claim already; its payer is locked."""
        names = channels_to(self.channels, file.examined.registro_ans)
        for other in await tx.claims.of_batch(names, file.arrival.batch_number):
            if other.claim_id != file.arrival.claim_id and await self._is_the_same(tx, other, file):
                raise _known(other)

    async def _is_the_same(self, tx: Transaction, other: ClaimRow, file: CheckedFile) -> bool:
        arrived = await tx.attempts.may_have_arrived(other.claim_id)
        if leaves_batch_free(other.state, may_have_arrived=arrived):
            return False
        if file.arrival.has_content(other.content_hash):  # then its file need not be opened
            return True
        given = BatchIdentity(file.arrival.content_hash, file.examined.provider)
        return is_same_batch(BatchIdentity(other.content_hash, await self._provider(tx, other)), given)

    async def _provider(self, tx: Transaction, claim: ClaimRow) -> Provider | None:
        """Whose batch a claim is; None when its file is not kept any more, or cannot be opened."""
        if own := self.channels[claim.payer_id].settings.own_provider:
            return own
        try:
            content = await tx.payloads.opened(claim.claim_id, self.cipher)
        except CipherError:
            return None
        return (await asyncio.to_thread(read_lote, content)).provider if content else None


def _known(other: ClaimRow) -> Refusal:
    return conflict(
        "file",
        f"its batch is known as {other.claim_id} ({other.state})",
        rule="one batch, one claim",
        remedy=f"See `reenvio claim show {other.claim_id}`, or give the file a batch number of its own.",
    )
