"""Asks a payer what became of a claim it accepted, and says it in words."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from domain.claim import ClaimId
from domain.errors import Trouble
from gateways.tiss.client import Call, sequence_from
from gateways.tiss.lote import read_lote
from gateways.tiss.outcomes import ProtocolStatus, Situation
from gateways.tiss.parties import Provider
from persistence.cipher import Cipher
from persistence.claims import ClaimRow
from persistence.store import Store
from workers.claims import unknown_claim
from workers.intake.examination import Channels
from workers.tiss import PayerChannel, stored_file

WORDS = {
    ProtocolStatus.RECEIVED: "received",
    ProtocolStatus.IN_ANALYSIS: "in analysis",
    ProtocolStatus.CLEARED_FOR_PAYMENT: "cleared for payment",
    ProtocolStatus.CLOSED_UNPAID: "closed without payment",
    ProtocolStatus.ANALYSED: "analysed, waiting for payment to be cleared",
    ProtocolStatus.PAID: "paid",
    ProtocolStatus.NOT_FOUND: "not found: the payer does not know this protocol",
    ProtocolStatus.WAITING_FOR_INFORMATION: "waiting for further information from the hospital",
    ProtocolStatus.CANCELLED: "cancelled",
    ProtocolStatus.COURT_BLOCKED: "blocked by a court",
}


class ProtocolTrouble(Trouble):
    """What became of a protocol cannot be said; the text says why."""


@dataclass(frozen=True, slots=True)
class Protocols:
    """The payers' word on accepted claims."""

    store: Store
    cipher: Cipher
    channels: Channels

    async def ask(self, claim_id: ClaimId, now: datetime) -> Situation:
        """Ask the payer's status service about the claim's protocol."""
        claim = await self.store.look(lambda tx: tx.claims.find(claim_id.value))
        if claim is None:
            raise unknown_claim(claim_id)
        if not claim.protocol_number:
            raise ProtocolTrouble(f"{claim_id} has no protocol: it is {claim.state}.")
        channel = self.channels.get(claim.payer_id)
        if channel is None:
            raise ProtocolTrouble(f"Payer {claim.payer_id} is not configured: add it to PAYERS_FILE.")
        provider = channel.settings.own_provider or await self._provider(claim)
        return await _ask(channel, provider, claim.protocol_number, now)

    async def _provider(self, claim: ClaimRow) -> Provider:
        provider = read_lote(await stored_file(self.store, self.cipher, claim.claim_id)).provider
        if provider is None:
            raise ProtocolTrouble(f"Nothing says who we are to {claim.payer_id}: set its provider.")
        return provider


async def _ask(channel: PayerChannel, provider: Provider, protocol: str, now: datetime) -> Situation:
    call = Call(sequence_from(protocol, now.isoformat()), now)
    outcome = await channel.client.status(provider, protocol, call)
    if not isinstance(outcome, Situation):
        raise ProtocolTrouble(
            f"The payer did not say what became of protocol {protocol} ({outcome.code}: {outcome.error})."
        )
    return outcome


def in_words(situation: Situation) -> Iterator[str]:
    """The payer's word, line by line."""
    yield f"protocol {situation.protocol}: {WORDS[situation.status]}"
    for glosa in situation.glosas:
        guide = f", guide {glosa.guide}" if glosa.guide else ""
        yield f"glosa {glosa.code} on the {glosa.level}{guide}: {glosa.meaning}"
