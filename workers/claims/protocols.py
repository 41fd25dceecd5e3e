"""Asks a payer what became of a protocol, says it in plain text, and whether it is a claim's own."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from domain.claim import ClaimId
from domain.errors import Trouble
from domain.observations import Observe, nobody_watches
from domain.ports import Clock
from domain.refusals import ClaimRefusal
from domain.submission import AccessDenied, Failed, Failure
from gateways.tiss.client import Call, sequence_from
from gateways.tiss.faults import NO_SUCH_PROTOCOL
from gateways.tiss.gateway import NO_FILE
from gateways.tiss.lote import LoteRefusedError, read_lote
from gateways.tiss.outcomes import ProtocolStatus, Situation, StatusOutcome
from gateways.tiss.parties import Provider
from persistence.encryption.cipher import Cipher
from persistence.repositories.claims import ClaimRow
from persistence.store import Store
from workers.claims.examination import Channels
from workers.claims.finding import find_claim
from workers.claims.messages import protocol_number
from workers.payers.channels import PayerChannel
from workers.payers.limits import LimitsByPayer
from workers.payers.questions import NotNow, StatusQuestion
from workers.payers.waking import tell_change

STATUS_TEXT = {
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
class ProtocolAnswer:
    """What the payer says about a protocol, beside the claim it was asked for."""

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
    """Asks payers about claims that they have."""

    store: Store
    limits: LimitsByPayer
    cipher: Cipher
    channels: Channels
    clock: Clock
    observe: Observe = nobody_watches

    async def ask(self, claim_id: ClaimId, given: str | None = None) -> ProtocolAnswer:
        """Ask about a number, the claim's own by default, or the one that a damaged answer names."""
        claim = await find_claim(self.store, claim_id)
        number = given or claim.protocol_number or await self._claimed(claim)
        if not number:
            raise ClaimRefusal(
                f"{claim_id} has no protocol: it is {claim.state}. "
                "Give the number that the payer told you with --protocol."
            )
        outcome = await self._asked(claim, protocol_number(number))
        if not isinstance(outcome, Situation):
            raise _unsaid(claim.payer_id, number, outcome)
        return ProtocolAnswer(claim, outcome)

    async def recovered(self, claim_id: ClaimId, given: str | None) -> str:
        """The claim's protocol, confirmed by its payer for the claim's own batch."""
        try:
            answer = await self.ask(claim_id, given)
            answer.require_own()
        except (ProtocolTrouble, NotNow, LoteRefusedError) as trouble:
            raise ProtocolTrouble(f"{trouble} {_UNCHECKED}") from trouble
        return answer.situation.protocol

    async def _claimed(self, claim: ClaimRow) -> str | None:
        return await self.store.look(lambda tx: tx.attempts.claimed_protocol(claim.claim_id))

    async def _asked(self, claim: ClaimRow, number: str) -> StatusOutcome:
        """Ask once, admitted as a send is; what it changes for the payer is kept before anybody sees it."""
        channel = self.channels.get(claim.payer_id)
        if channel is None:
            raise ProtocolTrouble(f"Payer {claim.payer_id} is not configured: add it to PAYERS_FILE.")
        provider = channel.settings.own_provider or await self._provider(claim)
        question = StatusQuestion(claim.claim_id, claim.payer_id, self.limits.of(claim.payer_id))
        began = await self.clock.now()
        await self.store.run(lambda tx: question.begin(tx, began))
        outcome = await _call(channel, provider, number, began)
        ended = await self.clock.now()
        tell_change(await self.store.run(lambda tx: question.end(tx, outcome, ended)), self.observe)
        return outcome

    async def _provider(self, claim: ClaimRow) -> Provider:
        content = await stored_file(self.store, self.cipher, claim.claim_id)
        provider = (await asyncio.to_thread(read_lote, content)).provider
        if provider is None:
            raise ProtocolTrouble(f"Nothing says who we are to {claim.payer_id}: set its provider.")
        return provider


async def _call(channel: PayerChannel, provider: Provider, protocol: str, now: datetime) -> StatusOutcome:
    call, settings = Call(sequence_from(protocol, now.isoformat()), now), channel.settings
    outcome = await channel.client.status(provider, protocol, call)
    elsewhere = settings.status_endpoint not in (None, settings.endpoint)
    if elsewhere and isinstance(outcome, Failed) and outcome.payer_down:
        return Failed(outcome.error, outcome.code)  # another service than the one that takes claims
    return outcome


def _unsaid(payer_id: str, protocol: str, outcome: Failure) -> ProtocolTrouble:
    if outcome.code in NO_SUCH_PROTOCOL:
        return ProtocolTrouble(_not_found(protocol, outcome.code))
    said = f"The payer did not say what became of protocol {protocol} ({outcome.code}: {outcome.error})."
    if not isinstance(outcome, AccessDenied):
        return ProtocolTrouble(said)
    restart = "restart every worker with the corrected credentials"
    advice = f"{restart}, then run `reenvio payer resume {payer_id}`"
    return ProtocolTrouble(f"{said} All calls to it have stopped: {advice}.")


def _not_found(protocol: str, code: str) -> str:
    return (
        f"The payer does not know protocol {protocol} ({code}): compare the number with the payer's receipt; "
        "if it is right and new, ask again later; if it stays unknown, ask the payer by the batch number."
    )


def _doubt(situation: Situation, batch: str | None) -> str | None:
    """Why a situation does not confirm a batch."""
    if situation.status in _VOID:
        return f"the payer says {STATUS_TEXT[situation.status]}"
    if situation.lote is None or batch is None:
        return "nobody says which batch it is of"
    return (
        None
        if situation.lote == batch
        else f"it is of batch {situation.lote}, and the claim is batch {batch}"
    )


def status_lines(situation: Situation) -> Iterator[str]:
    """What the payer says, line by line."""
    yield f"protocol {situation.protocol}: {STATUS_TEXT[situation.status]}"
    for glosa in situation.glosas:
        guide = f", guide {glosa.guide}" if glosa.guide else ""
        yield f"glosa {glosa.code} on the {glosa.level}{guide}: {glosa.meaning}"


async def stored_file(store: Store, cipher: Cipher, claim_id: str) -> bytes:
    """A claim's file; one that is not there is a refusal like any other file that cannot be sent."""
    content = await store.look(lambda tx: tx.payloads.opened(claim_id, cipher))
    if content is None:
        raise LoteRefusedError(NO_FILE)
    return content
