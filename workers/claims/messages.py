"""What people and other systems may ask of a claim: start, retry now, cancel, decide a review."""

from datetime import timedelta

from bpmn.names import Message, ReviewDecision, ReviewReason, Variable
from domain.claim import ClaimId
from domain.claim_state import ClaimState
from domain.errors import Trouble
from gateways.tiss.answers import is_protocol
from gateways.zeebe.commands import ProcessMessage, ZeebeCommands
from persistence.repositories.claims import ClaimRow
from persistence.repositories.reviews import Review
from persistence.store import Store, Transaction
from workers.payers.waking import KEEP as KEEP_WAKE_UP

KEEP_START = timedelta(hours=24)
KEEP_WORD = timedelta(minutes=10)  # a person's word may arrive a moment before the process waits for it


class ClaimRefusal(Trouble):  # it is an answer, not a fault
    """What was asked of a claim makes no sense in its state; the text says why and what does."""


def unknown_claim(claim_id: ClaimId) -> ClaimRefusal:
    """The refusal of a claim nobody here knows."""
    return ClaimRefusal(f"{claim_id} is not known here: see `reenvio claim list`.")


async def find_claim(store: Store, claim_id: ClaimId) -> ClaimRow:
    """The claim; a refusal when nobody knows it."""
    claim = await store.look(lambda tx: tx.claims.find(claim_id.value))
    if claim is None:
        raise unknown_claim(claim_id)
    return claim


def protocol_number(text: str) -> str:
    """The number, if it has the form of a protocol: any other text stays out of engine and messages."""
    if not is_protocol(text):
        raise ClaimRefusal(
            "A protocol number has 1 to 12 characters: letters and digits, and . / _ - after the first."
        )
    return text


class ClaimMessages:
    """Speaks to claims by message; the engine finds the instance by the claim's id."""

    def __init__(self, store: Store, commands: ZeebeCommands) -> None:
        self._store = store
        self._commands = commands

    async def start(self, claim_id: ClaimId, payer_id: str) -> bool:
        """Start the claim's process; False when it was started before."""
        if await self._store.look(lambda tx: tx.claims.find(claim_id.value)):
            return False
        variables = {Variable.CLAIM_ID: claim_id.value, Variable.PAYER_ID: payer_id}
        return await self._commands.publish(
            ProcessMessage(Message.CLAIM_READY, claim_id.value, variables, KEEP_START, claim_id.value)
        )

    async def retry_now(self, claim_id: ClaimId) -> bool:
        """Wake a claim from this very wait, once; False when it was asked for a moment ago."""
        claim = await self._require(claim_id, ClaimState.WAITING)
        wait = f"{claim_id} {claim.next_retry_time}"
        return await self._commands.publish(
            ProcessMessage(Message.RETRY_NOW, claim_id.value, {}, KEEP_WAKE_UP, wait)
        )

    async def cancel(self, claim_id: ClaimId, *, although_sent: bool = False) -> None:
        """Cancel a claim that waits for its time or for a person, and that its payer cannot have."""
        await self._require(claim_id, ClaimState.WAITING, ClaimState.IN_REVIEW)
        if not although_sent:
            await self._store.look(lambda tx: _require_not_sent(tx, claim_id))
        await self._commands.publish(ProcessMessage(Message.CLAIM_CANCELLED, claim_id.value, {}, KEEP_WORD))

    async def decide_review(
        self, claim_id: ClaimId, decision: ReviewDecision, *, protocol_number: str | None = None
    ) -> None:
        """Tell the process what a person decided; a word about an earlier round is ignored by it."""
        await self._require(claim_id, ClaimState.IN_REVIEW)
        review = (await self._store.look(lambda tx: tx.reviews.of_claim(claim_id.value)))[-1]
        _check(review, decision, protocol_number)
        variables = {
            Variable.REVIEW_DECISION: decision,
            Variable.DECIDED_ROUND: review.round,
            Variable.PROTOCOL_NUMBER: protocol_number,
        }
        await self._commands.publish(
            ProcessMessage(Message.REVIEW_DECIDED, claim_id.value, variables, KEEP_WORD)
        )

    async def _require(self, claim_id: ClaimId, *states: ClaimState) -> ClaimRow:
        claim = await find_claim(self._store, claim_id)
        if claim.state not in states:
            wanted = " or ".join(states)
            raise ClaimRefusal(
                f"{claim_id} is {claim.state}, and this can be asked only while it is {wanted}."
            )
        return claim


async def payer_has(tx: Transaction, claim_id: str) -> bool:
    """Whether the claim lies on a person's desk because its payer has it, but not its protocol."""
    reviews = await tx.reviews.of_claim(claim_id)
    return bool(reviews) and reviews[-1].reason == ReviewReason.PROTOCOL_MISSING


async def _require_not_sent(tx: Transaction, claim_id: ClaimId) -> None:
    if await payer_has(tx, claim_id.value):
        raise ClaimRefusal(
            f"The payer has {claim_id} already, and a cancellation here does not reach it: decide "
            "PROTOCOL_RECOVERED or WRITE_OFF in its review, or cancel with --although-sent."
        )
    if await tx.attempts.answer_was_lost(claim_id.value):
        raise ClaimRefusal(
            f"The payer may have {claim_id}: the answer to a send was lost, and a cancellation here does not "
            "reach the payer. Find out with the payer first, then cancel with --although-sent."
        )


def _check(review: Review, decision: ReviewDecision, given: str | None) -> None:
    sends_again = decision in (ReviewDecision.RESEND, ReviewDecision.CORRECTED)
    if sends_again and review.reason == ReviewReason.PROTOCOL_MISSING:
        raise ClaimRefusal(
            f"The payer has {review.claim_id} already, so it must not go out again: "
            "decide PROTOCOL_RECOVERED with the number the payer tells you, or WRITE_OFF."
        )
    if decision is ReviewDecision.PROTOCOL_RECOVERED and not given:
        raise ClaimRefusal("PROTOCOL_RECOVERED needs the protocol number that the payer gave.")
    if given and decision is not ReviewDecision.PROTOCOL_RECOVERED:
        raise ClaimRefusal(f"A protocol number is for PROTOCOL_RECOVERED, not for {decision}.")
    if given:
        protocol_number(given)
