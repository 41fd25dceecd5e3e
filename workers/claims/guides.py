"""Whether another claim of ours can have brought a payer the guides of a batch."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from domain.submission import NOT_KNOWN, Duplicate, OtherHolders, SendResult, Submission
from gateways.tiss.lote import LoteRefusedError, read_lote
from persistence.encryption.cipher import Cipher
from persistence.repositories.guides import SoughtGuides, sought_guides
from persistence.store import Transaction
from workers.claims.examination import Channels, channels_to


@dataclass(frozen=True, slots=True)
class GuideSearch:
    """Looks for the guides of a claim among our other claims at its payer."""

    channels: Channels
    cipher: Cipher

    async def prepare(self, sent: Submission, result: SendResult) -> SoughtGuides | None:
        """What to look for when a guide is refused after a lost answer; None else, and without a file."""
        asks = isinstance(result, Duplicate) and result.of == "guide" and sent.after_lost_answer
        if not asks or sent.content is None:
            return None
        return await asyncio.to_thread(self._sought, sent, sent.content)

    def _sought(self, sent: Submission, content: bytes) -> SoughtGuides | None:
        try:
            numbers = guides_of(content)
        except LoteRefusedError:
            return None
        sought = sought_guides(self.cipher, numbers, sent.claim_id, self._names(sent.payer_id))
        return replace(sought, configured=frozenset(self.channels))

    def _names(self, payer_id: str) -> Sequence[str]:
        channel = self.channels.get(payer_id)
        return channels_to(self.channels, channel.settings.registro_ans) if channel else [payer_id]


async def other_holders(tx: Transaction, sought: SoughtGuides | None) -> OtherHolders:
    """Our other claims that hold one of the guides; where none could be looked for, nothing is known."""
    if sought is None:
        return NOT_KNOWN
    found = await tx.guides.holders(sought)
    named = tuple(f"{holder.claim_id} ({holder.state})" for holder in found)
    return OtherHolders(named, all_known=await tx.guides.all_known(sought))


def guides_of(data: bytes) -> tuple[str, ...]:
    """The numbers of a batch file's guides."""
    return read_lote(data).guides
