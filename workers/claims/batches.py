"""One batch, one claim: the same batch under another id would reach its payer twice."""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from domain.claim_state import ClaimState
from gateways.tiss.lote import read_lote
from gateways.tiss.parties import Provider
from persistence.encryption.cipher import Cipher
from persistence.repositories.claims import Arrival, ClaimRow
from persistence.store import Transaction
from workers.claims.examination import Channels, Examined
from workers.claims.refusal import Refusal, conflict

_GIVEN_UP = (ClaimState.CANCELLED, ClaimState.WRITTEN_OFF)


@dataclass(frozen=True, slots=True)
class Batches:
    """Knows claims by payer, provider and batch number, whatever their ids."""

    channels: Channels
    cipher: Cipher

    async def require_new(self, tx: Transaction, arrival: Arrival, examined: Examined, now: datetime) -> None:
        """Refuse a batch that is another claim already; two that come at once wait for each other here."""
        names = self._channels_to(examined.registro_ans)
        await tx.payers.lock(names[0], now=now)
        for other in await tx.claims.of_batch(names, arrival.batch_number):
            if other.claim_id != arrival.claim_id and await self._is_the_same(tx, other, arrival, examined):
                raise _known(other)

    def _channels_to(self, registro_ans: str) -> list[str]:
        channels = self.channels.items()
        return sorted(name for name, channel in channels if channel.settings.registro_ans == registro_ans)

    async def _is_the_same(
        self, tx: Transaction, other: ClaimRow, arrival: Arrival, examined: Examined
    ) -> bool:
        if other.state in _GIVEN_UP and not await tx.attempts.answer_was_lost(other.claim_id):
            return False
        if other.content_hash == arrival.content_hash:
            return True
        return await self._provider(tx, other) in (examined.provider, None)

    async def _provider(self, tx: Transaction, claim: ClaimRow) -> Provider | None:
        """Whose batch a claim is; None when its file is not kept any more."""
        if own := self.channels[claim.payer_id].settings.own_provider:
            return own
        content = await tx.payloads.opened(claim.claim_id, self.cipher)
        return (await asyncio.to_thread(read_lote, content)).provider if content else None


def _known(other: ClaimRow) -> Refusal:
    return conflict(
        "file",
        f"its batch is known as {other.claim_id} ({other.state})",
        rule="one batch, one claim",
        remedy=f"See `reenvio claim show {other.claim_id}`, or give the file a batch number of its own.",
    )
