"""Asks a payer what became of a protocol, says it in words, and whether it is a claim's own."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from domain.claim import ClaimId
from domain.errors import Trouble
from domain.ports import Clock
from domain.refusals import ClaimRefusal
from gateways.tiss.client import Call, sequence_from
from gateways.tiss.lote import LoteRefusedError, read_lote
from gateways.tiss.outcomes import (
    AccessDenied,
    Failure,
    PayerDown,
    ProtocolStatus,
    Situation,
    StatusOutcome,
    Transient,
)
from gateways.tiss.parties import Provider
from persistence.encryption.cipher import Cipher
from persistence.repositories.claims import ClaimRow
from workers.claims.examination import Channels
from workers.claims.messages import find_claim, protocol_number
from workers.payers.admission import Candidate
from workers.payers.channels import PayerChannel, stored_file
from workers.payers.questions import NotNow, answered, ask
from workers.payers.waking import Waker

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
_VOID = (ProtocolStatus.NOT_FOUND, ProtocolStatus.CANCELLED)
_UNCHECKED = (
    "Nothing is recovered. If you have the payer's receipt before you, add --protocol and --unchecked."
)


class ProtocolTrouble(Trouble):
    """What became of a protocol cannot be said, or it is not the claim's; the text says why."""


@dataclass(frozen=True, slots=True)
class Told:
    """The payer's word on a protocol, beside the claim it was asked for."""

    claim: ClaimRow
    situation: Situation

    @property
    def is_news(self) -> bool:
        """Whether the claim is not known by this protocol yet."""
        return self.situation.protocol != self.claim.protocol_number

    def require_own(self) -> None:
        """Refuse a protocol that the payer does not confirm for the claim's own batch."""
        if doubt := _doubt(self.situation, self.claim.batch_number):
            raise ProtocolTrouble(
                f"Protocol {self.situation.protocol} is not confirmed for {self.claim.claim_id}: {doubt}."
            )


@dataclass(frozen=True, slots=True)
class Protocols:
    """The payers' word on claims that they have."""

    cipher: Cipher
    channels: Channels
    waker: Waker
    clock: Clock

    async def ask(self, claim_id: ClaimId, given: str | None = None) -> Told:
        """Ask about a number, the claim's own by default, or the one that a damaged answer names."""
        claim = await find_claim(self.waker.store, claim_id)
        number = given or claim.protocol_number or await self._claimed(claim)
        if not number:
            raise ClaimRefusal(
                f"{claim_id} has no protocol: it is {claim.state}. "
                "Give the number that the payer told you with --protocol."
            )
        outcome = await self._asked(claim, protocol_number(number))
        if not isinstance(outcome, Situation):
            raise _unsaid(claim.payer_id, number, outcome)
        return Told(claim, outcome)

    async def recovered(self, claim_id: ClaimId, given: str | None) -> str:
        """The claim's protocol, confirmed by its payer for the claim's own batch."""
        try:
            told = await self.ask(claim_id, given)
            told.require_own()
        except (ProtocolTrouble, NotNow, LoteRefusedError) as trouble:
            raise ProtocolTrouble(f"{trouble} {_UNCHECKED}") from trouble
        return told.situation.protocol

    async def _claimed(self, claim: ClaimRow) -> str | None:
        return await self.waker.store.look(lambda tx: tx.attempts.claimed_protocol(claim.claim_id))

    async def _asked(self, claim: ClaimRow, number: str) -> StatusOutcome:
        """One question through the payer's door; what comes of it is known there before anybody is told."""
        channel = self.channels.get(claim.payer_id)
        if channel is None:
            raise ProtocolTrouble(f"Payer {claim.payer_id} is not configured: add it to PAYERS_FILE.")
        provider = channel.settings.own_provider or await self._provider(claim)
        store, limits = self.waker.store, self.waker.book.of(claim.payer_id)
        asking, now = Candidate(claim.claim_id, claim.payer_id), await self.clock.now()
        await store.run(lambda tx: ask(tx, asking, limits, now))
        outcome = await _call(channel, provider, number, now)
        ended = await self.clock.now()
        self.waker.tell(await store.run(lambda tx: answered(tx, asking, outcome, limits, ended)))
        return outcome

    async def _provider(self, claim: ClaimRow) -> Provider:
        provider = read_lote(await stored_file(self.waker.store, self.cipher, claim.claim_id)).provider
        if provider is None:
            raise ProtocolTrouble(f"Nothing says who we are to {claim.payer_id}: set its provider.")
        return provider


async def _call(channel: PayerChannel, provider: Provider, protocol: str, now: datetime) -> StatusOutcome:
    call, settings = Call(sequence_from(protocol, now.isoformat()), now), channel.settings
    outcome = await channel.client.status(provider, protocol, call)
    if isinstance(outcome, PayerDown) and settings.status_endpoint not in (None, settings.endpoint):
        return Transient(outcome.code, outcome.error)  # another service than the one that takes claims
    return outcome


def _unsaid(payer_id: str, protocol: str, outcome: Failure) -> ProtocolTrouble:
    said = f"The payer did not say what became of protocol {protocol} ({outcome.code}: {outcome.error})."
    if not isinstance(outcome, AccessDenied):
        return ProtocolTrouble(said)
    advice = f"correct the credentials, then run `reenvio payer resume {payer_id}`"
    return ProtocolTrouble(f"{said} All calls to it have stopped: {advice}.")


def _doubt(situation: Situation, batch: str | None) -> str | None:
    """Why a situation does not confirm a batch."""
    if situation.status in _VOID:
        return f"the payer says {WORDS[situation.status]}"
    if situation.lote is None or batch is None:
        return "nobody says which batch it is of"
    return (
        None
        if situation.lote == batch
        else f"it is of batch {situation.lote}, and the claim is batch {batch}"
    )


def in_words(situation: Situation) -> Iterator[str]:
    """The payer's word, line by line."""
    yield f"protocol {situation.protocol}: {WORDS[situation.status]}"
    for glosa in situation.glosas:
        guide = f", guide {glosa.guide}" if glosa.guide else ""
        yield f"glosa {glosa.code} on the {glosa.level}{guide}: {glosa.meaning}"
